// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pgserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nestor-dev/nestor/internal/localcluster/lifeline"
)

// startTimeout is generous, because a server that was killed must recover first.
const startTimeout = 2 * time.Minute

// Start starts the server if it is not running, and returns when it accepts connections.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		// After a kill, a new server refuses to start while the shared memory of the old one is in use.
		if s.hasExited() {
			if err := s.launch(); err != nil {
				return fmt.Errorf("start PostgreSQL: %w", err)
			}
		}
		err := s.exec(ctx, "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			output, _ := os.ReadFile(s.log()) // err is the error to report
			return fmt.Errorf("start PostgreSQL: %w\n%s", err, output)
		}
	}
}

func (s *Server) log() string { return filepath.Join(s.dir, "server.log") }

func (s *Server) launch() error {
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()                         // the server has a copy
	cmd := exec.Command(filepath.Join(s.programs, "postgres"), //nolint:noctx // It outlives every context but the process.
		"-D", s.data(), "-k", s.dir, "-p", strconv.Itoa(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync="+s.fsync(), "-c", "max_connections=200")
	s.prepare(cmd)
	cmd.Stdout, cmd.Stderr = log, log
	s.running, err = lifeline.Start(cmd, syscall.SIGQUIT)
	return err
}

func (s *Server) fsync() string {
	if s.durable {
		return "on"
	}
	return "off"
}

// hasExited reports whether the server is not running.
func (s *Server) hasExited() bool {
	if s.running == nil {
		return true
	}
	select {
	case <-s.running.Exited():
		return true
	default:
		return false
	}
}

// Stop stops the server immediately, without a checkpoint, if it is running.
func (s *Server) Stop() {
	if s.running == nil {
		return
	}
	_ = s.running.Signal(syscall.SIGQUIT) // it is our child: this fails only if it has ended
	<-s.running.Exited()
	s.running = nil
}

// Kill ends the server and all its processes with SIGKILL, as a power failure would.
func (s *Server) Kill() error {
	if s.running == nil {
		return nil
	}
	pid := s.running.Pid
	// A stopped server starts no more processes while its children are listed.
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	children, err := childrenOf(pid)
	if err != nil {
		return err
	}
	for _, victim := range append(children, pid) {
		if err := syscall.Kill(victim, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			return fmt.Errorf("kill PostgreSQL process %d: %w", victim, err)
		}
	}
	s.Stop()
	return nil
}

func childrenOf(pid int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var children []int
	for _, entry := range entries {
		child, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil {
			continue // it has ended meanwhile
		}
		// The name in parentheses may contain anything; after it come the state and the parent.
		_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			children = append(children, child)
		}
	}
	return children, nil
}
