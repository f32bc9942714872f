// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// stopTimeout limits how long the controllers may take to end before they are killed.
const stopTimeout = 10 * time.Second

// controllersProcess is the running program of the controllers.
type controllersProcess struct {
	cmd  *exec.Cmd
	done chan error
}

func startControllers(ctx context.Context, program, kubeconfig string, log io.Writer) (*controllersProcess, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("start the controllers: %w", err)
	}
	cmd := exec.Command(program, "--kubeconfig="+kubeconfig) //nolint:noctx // ended by Stop, not by the context of the start
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the controllers: %w", err)
	}
	process := &controllersProcess{cmd: cmd, done: make(chan error, 1)}
	go func() { process.done <- cmd.Wait() }()
	return process, nil
}

func (p *controllersProcess) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("the controllers ended before they were stopped: %w", errors.Join(err, <-p.done))
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTimeout):
		if err := p.cmd.Process.Kill(); err != nil {
			return fmt.Errorf("kill the controllers: %w", err)
		}
		<-p.done
		return nil
	}
}
