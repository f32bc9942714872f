// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// workingDirectory is the descriptor by which a supervisor gets its directory.
const workingDirectory = 3

// Supervise runs a command line until it ends or its control input does, ends
// everything that it left running, and returns the exit code. It belongs in the
// process that a Runner started; the arguments are those after
// SupervisorArgument: the command line, then the directories that it may change.
func Supervise(arguments []string, control io.Reader, stdout, stderr io.Writer) int {
	if err := adoptOrphans(); err != nil {
		fmt.Fprintln(stderr, "supervise shell:", err)
	}
	if err := enter(workingDirectory); err != nil {
		fmt.Fprintln(stderr, "enter working directory:", err)
		return exitNotRun
	}
	closeInherited()
	cmd := exec.Command("bash", "-c", arguments[0]) //nolint:noctx // ended by killAll below, with all of its descendants
	cmd.Stdout, cmd.Stderr = stdout, stderr
	detach(cmd)
	if err := start(cmd, arguments[1:]); err != nil {
		fmt.Fprintln(stderr, "start bash:", err)
		return exitNotRun
	}
	ended := make(chan int, 1)
	go func() { ended <- exitCode(cmd.Wait()) }()
	stop := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, control)
		close(stop)
	}()
	select {
	case code := <-ended:
		killAll(cmd.Process.Pid)
		return code
	case <-stop:
		killAll(cmd.Process.Pid)
		return exitKilled
	}
}

// Exit codes as shells use them.
const (
	exitNotRun = 126
	exitKilled = 128 + 9
)

// enter makes an open directory the working directory and closes it, so that the
// command does not inherit it.
func enter(fd int) error {
	defer func() { _ = unix.Close(fd) }()
	return unix.Fchdir(fd)
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return exitNotRun
	case exit.ExitCode() >= 0:
		return exit.ExitCode()
	default:
		return 128 + signalOf(exit)
	}
}

func signalOf(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return int(status.Signal())
	}
	return 0
}

// detach gives a process a session of its own, without a terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
