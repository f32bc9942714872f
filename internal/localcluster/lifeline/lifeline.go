// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package lifeline ends child processes when their parent ends, even by a panic or SIGKILL.
//
// A lifeline is a pipe whose write end only the parent has open. A shell next to each child reads from it. The read ends when the parent
// closes the pipe or ends, and the shell then signals the child. The shell is itself a child of that process, so it can detect that the
// process has already ended and does not signal its id, which the system may have reused.
//
// (The parent-death signal of Linux follows a thread of the parent, not the process.)
package lifeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// descriptor is the number of the lifeline's read end in the shell.
const descriptor = 3

// Script returns a shell script that executes the program in its arguments, and starts a background process that signals the program when
// the lifeline, file descriptor 3 of the script, ends. then is run after that.
func Script(signal syscall.Signal, then string) string {
	return fmt.Sprintf(`(
	read -r _ <&%[1]d
	{ read -r _ _ _ parent _ </proc/self/stat && [ "$parent" != $$ ]; } || kill -%[2]d $$
	%[3]s
) </dev/null >/dev/null 2>&1 &
exec "$@" %[1]d<&-
`, descriptor, int(signal), then)
}

// Process is a child with its own lifeline.
type Process struct {
	// Pid is the process id.
	Pid    int
	line   *os.File
	exited chan struct{}
	err    error
}

// Start starts a command that receives the signal when this process ends. The command must have no ExtraFiles; its standard input is empty
// unless it was set.
func Start(cmd *exec.Cmd, signal syscall.Signal) (*Process, error) {
	end, line, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	defer func() { _ = end.Close() }() // the child has a copy of it
	cmd.Args = append([]string{"/bin/sh", "-c", Script(signal, ":"), "lifeline", cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.ExtraFiles = "/bin/sh", []*os.File{end}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", cmd.Args[4], err), line.Close())
	}
	p := &Process{Pid: cmd.Process.Pid, line: line, exited: make(chan struct{})}
	go func() {
		p.err = errors.Join(cmd.Wait(), line.Close())
		close(p.exited)
	}()
	return p, nil
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Signal sends a signal, unless the process has ended.
func (p *Process) Signal(signal syscall.Signal) error {
	select {
	case <-p.exited:
		return nil
	default:
	}
	if err := syscall.Kill(p.Pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal process %d: %w", p.Pid, err)
	}
	return nil
}

// Kill ends the process with SIGKILL, as a power failure would, and waits for its end.
func (p *Process) Kill() error {
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.exited
	return nil
}

// Terminate sends SIGTERM, waits until the process ends or ctx ends, and returns how the process ended.
func (p *Process) Terminate(ctx context.Context) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.exited:
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("process %d did not end: %w", p.Pid, ctx.Err())
	}
}
