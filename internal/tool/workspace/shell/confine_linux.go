// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	landlockTruncate = 3 // Linux 6.2: all ways to change a file's content
	landlockScopes   = 6 // Linux 6.12: signals and abstract sockets
)

// changes are the file system changes that Landlock can restrict. Permissions, owners, times and extended attributes
// are not among them.
const changes = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER |
	unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
	unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
	unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
	unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK

// CanConfine reports whether the system can restrict commands to Runner.Writable.
func CanConfine() bool { return landlockVersion() >= landlockTruncate }

func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// start starts a command that may change only the given directories, or any if there are none. The restriction
// applies to a thread and its children, so it is put on a thread that ends with the goroutine; the supervisor stays
// unrestricted.
func start(cmd *exec.Cmd, writable []string) error {
	if len(writable) == 0 {
		return cmd.Start()
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// Other processes' access to this one depends on the main thread, which must not be restricted. While it is
			// locked here, another thread is used.
			defer runtime.UnlockOSThread()
			started <- start(cmd, writable)
			return
		}
		if err := confine(writable); err != nil {
			started <- err
			return
		}
		started <- cmd.Start()
	}()
	return <-started
}

// confine removes from the calling thread and its children the permission to change files outside the given
// directories, to inspect other processes and, if supported, to signal them or connect to their abstract sockets. It
// does nothing on systems without support.
func confine(writable []string) error {
	version := landlockVersion()
	if version < landlockTruncate {
		return nil
	}
	rules := unix.LandlockRulesetAttr{Handled_access_fs: changes}
	if version >= landlockScopes {
		rules.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&rules)), unsafe.Sizeof(rules), 0)
	if errno != 0 {
		return fmt.Errorf("create landlock ruleset: %w", errno)
	}
	ruleset := int(fd)
	defer func() { _ = unix.Close(ruleset) }()
	for _, dir := range writable {
		if err := allow(ruleset, dir, changes); err != nil {
			return err
		}
	}
	// Commands need to write to /dev/null and similar devices.
	if err := allow(ruleset, "/dev", unix.LANDLOCK_ACCESS_FS_WRITE_FILE|unix.LANDLOCK_ACCESS_FS_TRUNCATE); err != nil {
		return err
	}
	// Without this, a setuid program could escape the rules.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return fmt.Errorf("apply landlock ruleset: %w", errno)
	}
	return nil
}

// allow adds a directory to a ruleset; one that does not exist needs no rule.
func allow(ruleset int, dir string, access uint64) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	defer func() { _ = unix.Close(fd) }()
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE,
		uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("allow changes in %s: %w", dir, errno)
	}
	return nil
}
