// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// guard becomes the program, and leaves behind a child that kills it when the input ends, which is when the caller closes it
// or dies.
const guard = `exec 3<&0; (read -r _ <&3; kill -KILL $$) >/dev/null 2>&1 & exec "$@" 3<&- </dev/null`

// Process is a program that runs.
type Process struct {
	// Pid is its process id.
	Pid      int
	lifeline io.Closer
	exited   chan struct{}
	err      error
}

// run starts a program. What it writes goes to the two writers.
func run(stdout, stderr io.Writer, env []string, program string, args ...string) (*Process, error) {
	cmd := exec.Command("/bin/sh", append([]string{"-c", guard, "guard", program}, args...)...) //nolint:noctx // it outlives every context but the process
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Env = append(os.Environ(), env...)
	lifeline, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	p := &Process{Pid: cmd.Process.Pid, lifeline: lifeline, exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// Exited is closed when the program has ended, by itself or not.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Kill ends the program with SIGKILL, as a machine that loses its power would, and waits until it is gone.
func (p *Process) Kill() error { return p.end(syscall.SIGKILL) }

// Signal sends a signal and does not wait. One that has ended gets none: its id may be somebody else's by now.
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

// Terminate asks the program to end, and waits until it has or ctx ends. It returns how it ended.
func (p *Process) Terminate(ctx context.Context) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.exited:
		return errors.Join(p.err, ignoreClosed(p.lifeline.Close()))
	case <-ctx.Done():
		return fmt.Errorf("process %d did not end: %w", p.Pid, ctx.Err())
	}
}

func (p *Process) end(signal syscall.Signal) error {
	err := p.Signal(signal)
	<-p.exited
	return errors.Join(err, ignoreClosed(p.lifeline.Close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
