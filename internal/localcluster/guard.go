// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A guard ends the control plane when the caller dies without stopping it.
//
// It is a shell that reads from a pipe whose other end only the caller holds: when the caller is gone, however it
// went, the read ends and the guard kills the processes. It learns their ids from launchers, two-line scripts that
// write down their own id and then become the real program. (The parent-death signal of Linux would not do: envtest
// starts the processes itself, and the signal follows a thread, not the process.)
type guard struct {
	dir   string
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// script is what the guard runs in the guard's directory. "done" on standard input means that the caller stopped everything
// itself. A recorded id is killed only if the command line still names the cluster's state directory, so that an id
// that the system has given to somebody else is left alone.
const script = `
read -r word && [ "$word" = done ] && exit 0
for file in "$0"/*.pid; do
	pid=$(cat "$file") || continue
	case "$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null || ps -o args= -p "$pid")" in *"$1"*) kill -KILL "$pid" ;; esac
done
if [ "$2" = temporary ]; then
	# A process that is being killed may still write a file.
	for try in 1 2 3 4 5; do rm -rf "$1" && break; sleep 0.2; done
else
	rm -rf "$0"
fi
`

// startGuard watches over the processes of a cluster whose files are in stateDir; a temporary one is removed with them.
func startGuard(stateDir string, temporary bool) (*guard, error) {
	dir := filepath.Join(stateDir, "run")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the guard's directory: %w", err)
	}
	kind := "persistent"
	if temporary {
		kind = "temporary"
	}
	cmd := exec.Command("sh", "-c", script, dir, stateDir, kind) //nolint:noctx // it must outlive every context of the caller
	// A session of its own: Ctrl-C in the terminal reaches the caller's group and must not end the guard first.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("open the guard's pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	return &guard{dir: dir, cmd: cmd, stdin: stdin}, nil
}

// launcher returns the path of a script that runs a program under the guard. A control plane on somebody's machine is small:
// collecting garbage less often costs it little memory, and would else cost a third of its time.
func (g *guard) launcher(program string) (string, error) {
	name := filepath.Base(program)
	path := filepath.Join(g.dir, name)
	text := fmt.Sprintf("#!/bin/sh\necho $$ > %s\nexport GOGC=${GOGC:-400}\nexec %s \"$@\"\n", quote(path+".pid"), quote(program))
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		return "", fmt.Errorf("write the launcher of %s: %w", name, err)
	}
	return path, nil
}

// dead names a program under the guard that does not run any more.
func (g *guard) dead() string {
	for _, program := range []string{etcd, apiServer, controllerManager} {
		text, err := os.ReadFile(filepath.Join(g.dir, program+".pid"))
		if err != nil {
			continue // it has not begun
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return program
		}
	}
	return ""
}

// dismiss tells the guard that everything has been stopped; if it has not, the guard ends what is left first.
func (g *guard) dismiss(stopped bool) error {
	if stopped {
		if _, err := io.WriteString(g.stdin, "done\n"); err != nil {
			return fmt.Errorf("dismiss the guard: %w", err)
		}
	}
	if err := g.stdin.Close(); err != nil {
		return fmt.Errorf("dismiss the guard: %w", err)
	}
	if err := g.cmd.Wait(); err != nil {
		return fmt.Errorf("wait for the guard: %w", err)
	}
	return os.RemoveAll(g.dir)
}

func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
