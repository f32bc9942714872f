// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
)

// restartedServer is an API server that replaces the one that envtest started.
type restartedServer struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

// RestartAPIServer kills the API server and starts it again at the same address, with the same flags and
// certificates. between, if not nil, is called while it is down.
func (c *Cluster) RestartAPIServer(ctx context.Context, between func()) error {
	pid, started := c.guard.pids()[apiServer]
	if !started {
		return errors.New("the API server was not started")
	}
	flags, err := commandLine(pid)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the API server: %w", err)
	}
	if err := waitExit(ctx, pid); err != nil {
		return err
	}
	if between != nil {
		between()
	}
	if err := c.startSuccessor(flags); err != nil {
		return err
	}
	return c.waitForAPIServer(ctx)
}

// commandLine reads the flags of a process.
func commandLine(pid int) ([]string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil, fmt.Errorf("read the API server's flags, which works on Linux only: %w", err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")[1:], nil
}

// waitExit waits until a process has ended, so that its port is free.
func waitExit(ctx context.Context, pid int) error {
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, stopTimeout, true, func(context.Context) (bool, error) {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH), nil
	})
}

// startSuccessor runs the launcher that envtest used, so that the guard covers the new process too.
func (c *Cluster) startSuccessor(flags []string) error {
	cmd := exec.Command(filepath.Join(c.guard.dir, apiServer), flags...) //nolint:noctx // it ends with Stop
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the API server again: %w", err)
	}
	s := &restartedServer{cmd: cmd, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // only its end matters
		close(s.exited)
	}()
	c.restarted = s
	return nil
}

func (c *Cluster) waitForAPIServer(ctx context.Context) error {
	client, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the API server did not restart: %w", err)
	}
	return nil
}

// stop kills a restarted API server; the state is in etcd.
func (s *restartedServer) stop() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the API server: %w", err)
	}
	<-s.exited
	return nil
}
