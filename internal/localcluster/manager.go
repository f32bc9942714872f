// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// controllers are those that a tree of owned objects needs: one deletes orphans, one empties deleted namespaces, and
// one aggregates ClusterRoles.
var controllers = []string{"garbage-collector-controller", "namespace-controller", "clusterrole-aggregation-controller"}

// stopTimeout limits how long the controller manager may take to end before it is killed.
const stopTimeout = 10 * time.Second

// managerProcess is a running kube-controller-manager.
type managerProcess struct {
	cmd  *exec.Cmd
	done chan error
}

func startManager(ctx context.Context, program, kubeconfig string, log io.Writer) (*managerProcess, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("start the controller manager: %w", err)
	}
	cmd := exec.Command(program, //nolint:noctx // ended by Stop, not by the context of the start
		"--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig,
		"--authorization-kubeconfig="+kubeconfig,
		"--controllers="+strings.Join(controllers, ","),
		"--leader-elect=false",
		"--bind-address=127.0.0.1",
		"--secure-port=0",
		"--use-service-account-credentials=false",
	)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the controller manager: %w", err)
	}
	process := &managerProcess{cmd: cmd, done: make(chan error, 1)}
	go func() { process.done <- cmd.Wait() }()
	return process, nil
}

func (p *managerProcess) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("the controller manager ended before it was stopped: %w", errors.Join(err, <-p.done))
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTimeout):
		if err := p.cmd.Process.Kill(); err != nil {
			return fmt.Errorf("kill the controller manager: %w", err)
		}
		<-p.done
		return nil
	}
}
