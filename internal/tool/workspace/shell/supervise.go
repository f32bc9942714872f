// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// workingDirectory is the file descriptor of the supervisor's working directory.
const workingDirectory = 3

// Supervise runs a command line until it ends or its control input is closed, kills everything that it left running,
// and returns the exit code. It runs in the process that a Runner started; the arguments are those after
// SupervisorArgument: the command line, the maximum number of processes (0 means no limit), and the directories that
// it may change.
func Supervise(arguments []string, control io.Reader, stdout, stderr io.Writer) int {
	if err := adoptOrphans(); err != nil {
		fmt.Fprintln(stderr, "supervise shell:", err)
	}
	if err := enter(workingDirectory); err != nil {
		fmt.Fprintln(stderr, "enter working directory:", err)
		return exitNotRun
	}
	closeInherited()
	if len(arguments) < 2 {
		fmt.Fprintln(stderr, "supervise shell: no limit of processes")
		return exitNotRun
	}
	limit, err := strconv.Atoi(arguments[1])
	if err != nil {
		fmt.Fprintln(stderr, "supervise shell:", err)
		return exitNotRun
	}
	cmd := bash(arguments[0], limit)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	detach(cmd)
	if err := start(cmd, arguments[2:]); err != nil {
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
	tooMany := make(chan int, 1)
	if limit > 0 {
		lowerPriority(cmd.Process.Pid)
		go watchProcesses(limit, tooMany)
	}
	select {
	case code := <-ended:
		killAll(cmd.Process.Pid)
		return code
	case <-stop:
		killAll(cmd.Process.Pid)
		return exitKilled
	case count := <-tooMany:
		killAll(cmd.Process.Pid)
		fmt.Fprintf(stderr, "\n[ended with all processes of the command: it had %d processes and threads at once, and may have %d]\n", count, limit)
		return exitKilled
	}
}

const (
	exitNotRun = 126
	exitKilled = 128 + 9
)

// enter changes to an open directory and closes it, so that the command does not inherit it.
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
		return 128 + exitSignal(exit)
	}
}

func exitSignal(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return int(status.Signal())
	}
	return 0
}

// detach starts a process in a new session, without a terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
