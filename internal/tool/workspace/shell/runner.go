// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// SupervisorArgument is the first argument with which a Runner runs its program again; main must then call
// [Supervise].
const SupervisorArgument = "supervise-shell"

// gracePeriod is how long a supervisor may take to kill everything that the command started.
const gracePeriod = 10 * time.Second

type Runner struct {
	// Program is the executable that calls Supervise; usually os.Executable().
	Program string
	// Env is the complete environment of the commands.
	Env []string
	// Writable are the directories that commands may change, if the system can enforce it (see [CanConfine]); empty
	// means all.
	Writable []string
	// MaxProcesses is the maximum number of processes and threads of a command, if the system can count them (Linux);
	// 0 means no limit.
	MaxProcesses int
	// HeadBytes and TailBytes are the sizes of the two parts of the output that are kept.
	HeadBytes, TailBytes int
}

type Result struct {
	Output   string // standard output and error as they came, with the middle cut
	ExitCode int    // -1 if a signal ended the command
	Duration time.Duration
	// TimedOut and Cancelled are set if the command was killed for that reason.
	TimedOut, Cancelled bool
}

// Run runs a command line with bash in an open directory, because a path could lead elsewhere by the time it is used.
// An error means that the command could not be run; a command that fails is a Result.
func (r *Runner) Run(ctx context.Context, dir *os.File, command string, limit time.Duration) (Result, error) {
	started := time.Now()
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	output := newClippedBuffer(r.HeadBytes, r.TailBytes)
	cmd := exec.CommandContext(timed, r.Program, append([]string{SupervisorArgument, command, strconv.Itoa(r.MaxProcesses)}, r.Writable...)...)
	cmd.ExtraFiles = []*os.File{dir}
	cmd.Env = r.Env
	cmd.Stdout = output
	cmd.Stderr = output
	control, err := cmd.StdinPipe()
	if err != nil {
		return Result{}, fmt.Errorf("prepare supervisor: %w", err)
	}
	// Closing the supervisor's input makes it kill the command. The supervisor itself is killed only if that takes
	// longer than the grace period.
	cmd.Cancel = control.Close
	cmd.WaitDelay = gracePeriod
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("start supervisor: %w", err)
	}
	err = cmd.Wait()
	result := Result{
		Output:    output.String(),
		ExitCode:  cmd.ProcessState.ExitCode(),
		Duration:  time.Since(started),
		Cancelled: ctx.Err() != nil,
		TimedOut:  ctx.Err() == nil && timed.Err() != nil,
	}
	var exit *exec.ExitError
	ended := err == nil || errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) || timed.Err() != nil
	if !ended {
		return Result{}, fmt.Errorf("run command: %w", err)
	}
	return result, nil
}
