// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The UID of an unprivileged user, as in a pod.
const nobody = 65534

// TestBashCannotReadToken: bash runs as the server's user, who can normally inspect all of that
// user's processes.
func TestBashCannotReadToken(t *testing.T) {
	root := t.TempDir()
	cmd := unprivileged(t, root)
	s := start(t, cmd)
	for name, script := range map[string]string{
		"environment of the server": `cat /proc/$server/environ`,
		"memory of the server":      `cat /proc/$server/maps && dd if=/proc/$server/mem bs=1 count=1`,
		"open files of the server":  `ls /proc/$server/fd/`,
		"environment of all":        `cat /proc/*/environ`,
		"own environment":           `env; cat /proc/self/environ /proc/$PPID/environ`,
	} {
		t.Run(name, func(t *testing.T) {
			got := s.bash(t, "server=$(awk '{print $4}' /proc/$PPID/stat); [ $server != 1 ] || exit 99; "+script)
			if strings.Contains(got, token) || strings.Contains(got, "exit code 99") {
				t.Errorf("the token is visible: %s", got)
			}
			if strings.Contains(name, "of the server") && !strings.Contains(got, "denied") {
				t.Errorf("not refused: %s", got)
			}
		})
	}
}

// unprivileged returns the command of a server that runs as an unprivileged user if the test runs as root, because
// nothing can be hidden from root.
func unprivileged(t *testing.T, root string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		return command(t, "--root", root, "--listen", "127.0.0.1:0")
	}
	// The directories of tests and their programs are accessible only to root.
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	copyFile(t, "/proc/self/exe", program)
	for _, name := range []string{filepath.Dir(dir), filepath.Dir(root), dir} {
		if err := os.Chmod(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(root, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "--root", root, "--listen", "127.0.0.1:0")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + root, beProgram + "=1"}
	cmd.Dir = root
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	source, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(target, source); err != nil {
		t.Fatal(err)
	}
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
}
