// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pgserver

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startTimeout is generous, because a server that was killed must recover first.
const startTimeout = 60 * time.Second

// guard executes the server, with a child process that stops it when the input ends: when the test closes it or dies.
const guard = `exec 3<&0; (read -r _ <&3; kill -QUIT $$) & exec "$@" 3<&- </dev/null`

// process is a server that may have ended by itself.
type process struct {
	pid      int
	lifeline io.Closer
	exited   chan struct{}
}

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// Start starts the server if it is not running, and returns when it accepts connections.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		// After a kill, a new server refuses to start while the shared memory of the old one is in use.
		if s.running == nil || s.running.hasExited() {
			s.Stop()
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
			words, _ := os.ReadFile(s.log()) // err is the error to report
			return fmt.Errorf("start PostgreSQL: %w\n%s", err, words)
		}
	}
}

func (s *Server) log() string { return filepath.Join(s.dir, "server.log") }

func (s *Server) launch() error {
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()                   // the server has a copy
	cmd := exec.Command("/bin/sh", "-c", guard, "guard", //nolint:noctx // It outlives every context but the process.
		filepath.Join(s.programs, "postgres"), "-D", s.data(), "-k", s.dir, "-p", strconv.Itoa(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=on", "-c", "max_connections=200")
	s.prepare(cmd)
	cmd.Stdout, cmd.Stderr = log, log
	lifeline, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p := &process{pid: cmd.Process.Pid, lifeline: lifeline, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // only its end matters
		close(p.exited)
	}()
	s.running = p
	return nil
}

// Stop stops the server immediately, without a checkpoint, if it is running.
func (s *Server) Stop() {
	if s.running == nil {
		return
	}
	s.running.lifeline.Close()
	<-s.running.exited
	s.running = nil
}

// Kill ends the server and all its processes with SIGKILL, as a power failure would.
func (s *Server) Kill() error {
	if s.running == nil {
		return nil
	}
	pid := s.running.pid
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
