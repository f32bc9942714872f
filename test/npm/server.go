// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package npm

import (
	"bufio"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nestor-dev/nestor/test/patience"
)

// Server is a server that runs until its test ends.
type Server struct {
	// URL is its address on loopback.
	URL string

	mu    sync.Mutex
	lines []string
}

// Serve starts a server for a test, as Start does.
func (p Program) Serve(t testing.TB) *Server {
	t.Helper()
	s, stop := p.Start(t.Context(), t)
	t.Cleanup(stop)
	return s
}

// Start starts a server and waits until it listens. It listens on loopback only, and ends with this process even if
// that is killed.
func (p Program) Start(ctx context.Context, t T) (s *Server, stop func()) {
	t.Helper()
	p.options = []string{"--require", filepath.Join(hack(t), "mcp-servers", "loopback.cjs")}
	cmd := p.Command(ctx, t)
	if _, err := cmd.StdinPipe(); err != nil { // the server ends when it is closed
		t.Fatalf("start %s: %v", p.Script, err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatalf("start %s: %v", p.Script, err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", p.Script, err)
	}
	stop = func() {
		_ = cmd.Process.Kill() // it may have ended with the context
		_ = cmd.Wait()
	}
	s = &Server{}
	url := make(chan string, 1)
	go func() {
		defer close(url)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if address, ok := strings.CutPrefix(lines.Text(), "loopback: "); ok {
				url <- address
			}
			s.mu.Lock()
			s.lines = append(s.lines, lines.Text())
			s.mu.Unlock()
		}
	}()
	if s.URL = <-url; s.URL == "" {
		stop()
		t.Fatalf("%s ended before it listened: %q", p.Script, s.lines)
	}
	return s, stop
}

// WaitForPrinted waits until the server has printed a number of lines with a prefix, and returns them without it.
func (s *Server) WaitForPrinted(t testing.TB, prefix string, count int) []string {
	t.Helper()
	if !patience.Until(func() bool { return len(s.Printed(prefix)) >= count }) {
		t.Fatalf("it printed %q, want %d lines with %q", s.Printed(prefix), count, prefix)
	}
	return s.Printed(prefix)
}

// Printed returns the lines that the server has printed with a prefix, without it.
func (s *Server) Printed(prefix string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for _, line := range s.lines {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			found = append(found, rest)
		}
	}
	return found
}
