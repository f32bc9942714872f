// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/nestor-dev/nestor/internal/localcluster/lifeline"
)

// A guard ends the control plane when the caller dies without stopping it; see package lifeline.
//
// envtest starts etcd and the API server itself. They run through launchers: scripts that record their process ID,
// open the lifeline, a named pipe, and exec the real program.
type guard struct {
	dir, pipe string
	line      *os.File
	// cleanup removes the files that are not needed after the death of the caller.
	cleanup string
}

// startGuard starts a guard for a cluster whose files are in stateDir. If the caller dies, a temporary stateDir is
// removed.
func startGuard(stateDir string, temporary bool) (*guard, error) {
	dir := filepath.Join(stateDir, "run")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the guard's directory: %w", err)
	}
	// The name is new for each guard, so that a launcher of an earlier one cannot open this pipe.
	unique, err := os.MkdirTemp(dir, "lifeline-")
	if err != nil {
		return nil, fmt.Errorf("create the guard's directory: %w", err)
	}
	g := &guard{dir: dir, pipe: filepath.Join(unique, "pipe")}
	if err := syscall.Mkfifo(g.pipe, 0o600); err != nil {
		return nil, fmt.Errorf("make the guard's pipe: %w", err)
	}
	if g.line, err = os.OpenFile(g.pipe, os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("open the guard's pipe: %w", err)
	}
	removed := dir
	if temporary {
		removed = stateDir
	}
	// If the pipe is gone, the caller stopped everything itself. A process that is being killed may still write a
	// file.
	g.cleanup = fmt.Sprintf(`[ -p %s ] && for attempt in 1 2 3 4 5; do rm -rf %s && break; sleep 0.2; done`, quote(g.pipe), quote(removed))
	return g, nil
}

// launcher returns the path of a script that runs a program under the guard. A local control plane is small: a higher
// GOGC costs little memory and saves a third of its CPU time.
func (g *guard) launcher(program string) (string, error) {
	name := filepath.Base(program)
	path := filepath.Join(g.dir, name)
	text := fmt.Sprintf("#!/bin/sh\necho $$ > %s\nexport GOGC=${GOGC:-400}\nexec 3<%s\nset -- %s \"$@\"\n%s",
		quote(path+".pid"), quote(g.pipe), quote(program), lifeline.Script(syscall.SIGKILL, g.cleanup))
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		return "", fmt.Errorf("write the launcher of %s: %w", name, err)
	}
	return path, nil
}

// pids returns the IDs of the started programs.
func (g *guard) pids() map[string]int {
	found := map[string]int{}
	for _, program := range []string{etcd, apiServer, controllers} {
		text, err := os.ReadFile(filepath.Join(g.dir, program+".pid"))
		if err != nil {
			continue // it was not started yet
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			found[program] = pid
		}
	}
	return found
}

// deadProgram returns the name of a guarded program that has ended, or "".
func (g *guard) deadProgram() string {
	for program, pid := range g.pids() {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return program
		}
	}
	return ""
}

// close kills what still runs. stopped means that nothing does.
func (g *guard) close(stopped bool) error {
	pids := g.pids()
	if err := errors.Join(os.RemoveAll(g.dir), g.line.Close()); err != nil {
		return fmt.Errorf("close the guard: %w", err)
	}
	if stopped {
		return nil
	}
	for program, pid := range pids {
		if err := waitExit(context.Background(), pid); err != nil {
			return fmt.Errorf("wait for the end of %s: %w", program, err)
		}
	}
	return nil
}

func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
