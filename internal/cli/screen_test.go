// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"github.com/nestor-dev/nestor/test/patience"
)

// screen runs the program on a pseudo-terminal and emulates the screen.
type screen struct {
	t       *testing.T
	cmd     *exec.Cmd
	pty     *os.File
	changed chan struct{}
	exited  chan error

	mu       sync.Mutex
	emulator *vt.Emulator
	raw      strings.Builder
}

// startScreen runs the program on a terminal of the given size.
func startScreen(t *testing.T, cmd *exec.Cmd, width, height int) *screen {
	t.Helper()
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)})
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, cmd: cmd, pty: file, emulator: vt.NewEmulator(width, height), changed: make(chan struct{}, 1), exited: make(chan error, 1)}
	drawn := make(chan struct{})
	go func() {
		defer close(drawn)
		s.draw()
	}()
	go func() { _, _ = io.Copy(file, s.emulator) }() // replies to the program's queries
	go func() { s.exited <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = file.Close()
		<-drawn
	})
	return s
}

// draw copies the program's output to the emulator until the terminal is closed.
func (s *screen) draw() {
	buffer := make([]byte, 4096)
	for {
		n, err := s.pty.Read(buffer)
		if n > 0 {
			s.mu.Lock()
			s.raw.Write(buffer[:n])
			_, _ = s.emulator.Write(buffer[:n])
			s.mu.Unlock()
			select {
			case s.changed <- struct{}{}:
			default:
			}
		}
		if err != nil {
			return
		}
	}
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ansi.Strip(s.emulator.String())
}

// await waits until the screen shows one of the texts, and returns which.
func (s *screen) await(texts ...string) string {
	s.t.Helper()
	timeout := time.NewTimer(patience.Limit())
	defer timeout.Stop()
	for {
		now := s.text()
		for _, text := range texts {
			if strings.Contains(now, text) {
				return text
			}
		}
		select {
		case <-s.changed:
		case <-timeout.C:
			s.t.Fatalf("the screen does not show any of %q:\n%s", texts, now)
		}
	}
}

// waitForGone waits until the screen no longer shows text.
func (s *screen) waitForGone(text string) {
	s.t.Helper()
	timeout := time.NewTimer(patience.Limit())
	defer timeout.Stop()
	for strings.Contains(s.text(), text) {
		select {
		case <-s.changed:
		case <-timeout.C:
			s.t.Fatalf("the screen still shows %q:\n%s", text, s.text())
		}
	}
}

func (s *screen) typeKeys(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.pty, text); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screen) resize(width, height int) {
	s.t.Helper()
	s.mu.Lock()
	s.emulator.Resize(width, height)
	s.mu.Unlock()
	if err := pty.Setsize(s.pty, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		s.t.Fatal(err)
	}
}

// waitExit waits until the program has ended and returns its exit code.
func (s *screen) waitExit() int {
	s.t.Helper()
	select {
	case <-s.exited:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience.Limit()):
		s.t.Fatalf("the program does not end:\n%s", s.text())
		return -1
	}
}
