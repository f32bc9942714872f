// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/tool/workspace"
	"github.com/nestor-dev/nestor/test/patience"
)

func TestBashReportsOutputAndExitCode(t *testing.T) {
	c := serve(t, map[string]string{"sub/a.txt": "hello\n"})
	contains(t, c.ok("bash", args{"command": "cat a.txt; echo err >&2", "cwd": "sub"}), "hello\nerr\n[exit code 0, ")
	contains(t, c.ok("bash", args{"command": "true"}), "[no output]\n[exit code 0, ")
	c.fails("bash", args{"command": "echo out; exit 3"}, "out\n[exit code 3, ")
	c.fails("bash", args{"command": "kill -9 $$"}, "[exit code 137, ")
	c.fails("bash", args{"command": "no-such-command"}, "exit code 127")
	c.fails("bash", args{"command": " "}, "empty")
	c.fails("bash", args{"command": ": " + strings.Repeat("x", 1<<20)}, "limit is 120 KiB")
	c.ok("bash", args{"command": ": " + strings.Repeat("x", 119<<10)})
	c.fails("bash", args{"command": "pwd", "cwd": "none"}, "none", "no such file")
	c.fails("bash", args{"command": "pwd", "cwd": "sub/a.txt"}, "not a directory")
}

func TestBashHasNoTerminal(t *testing.T) {
	c := serve(t, nil)
	contains(t, c.ok("bash", args{"command": "cat; tty; true"}), "not a tty")
}

func TestBashOutputKeepsHeadAndTail(t *testing.T) {
	c := serve(t, nil)
	got := c.ok("bash", args{"command": "echo first; seq 1 100000; echo last"})
	contains(t, got, "first\n", "bytes of output left out", "100000\nlast\n[exit code 0")
	if len(got) > 17<<10 {
		t.Errorf("the answer has %d bytes", len(got))
	}
}

func TestBashEnvironmentIsScrubbed(t *testing.T) {
	t.Setenv("NESTOR_WORKSPACE_TOKEN", token)
	t.Setenv("SECRET_KEY", "canary-secret")
	c := serve(t, nil)
	env := c.ok("bash", args{"command": "env; set"})
	if strings.Contains(env, token) || strings.Contains(env, "canary-secret") {
		t.Errorf("a secret is visible:\n%s", env)
	}
	contains(t, env, "HOME=", "PATH=", "TERM=dumb")
}

func TestBashInheritsNoOpenFile(t *testing.T) {
	c := serve(t, nil)
	// A file that the parent of the server left open for its children.
	secret := filepath.Join(t.TempDir(), "secret")
	put(t, secret, "canary")
	fd, err := syscall.Open(secret, syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	open := c.ok("bash", args{"command": "ls -l /proc/self/fd"})
	if strings.Contains(open, secret) {
		t.Errorf("the command has the file open:\n%s", open)
	}
	// Standard input, output and error, the directory that ls reads, and no more.
	if n := strings.Count(open, " -> "); n != 4 {
		t.Errorf("the command has %d open files:\n%s", n, open)
	}
}

func TestBashEndsAtTimeLimit(t *testing.T) {
	for limit := time.Second; ; limit *= 4 { // a busy machine may not even start the command in a second
		c := serve(t, nil, func(o *workspace.Options) {
			o.Limits = workspace.DefaultLimits()
			o.Limits.MaxShellTime = limit
		})
		result := c.call("bash", args{"command": "echo begun; sleep 1000", "timeout_seconds": 100})
		contains(t, resultText(result), "time limit of "+limit.String())
		if !result.IsError {
			t.Error("it succeeded")
		}
		if limit > 30*time.Second || strings.Contains(resultText(result), "begun") {
			contains(t, resultText(result), "begun")
			return
		}
	}
}

// TestBashEndsDescendants starts descendants that try to survive the command. Each writes its process
// ID to the file pid, and the command ends once that exists.
func TestBashEndsDescendants(t *testing.T) {
	for name, command := range map[string]string{
		"background":        `sleep 1000 & echo $! > pid`,
		"own session":       `setsid bash -c 'echo $$ > pid; exec sleep 1000' &`,
		"no hangup":         `nohup sleep 1000 >/dev/null 2>&1 & echo $! > pid`,
		"orphan":            `(setsid bash -c 'sleep 1000 & echo $! > pid' &)`,
		"empty environment": `env -i setsid /bin/bash -c 'echo $$ > pid; while :; do /bin/sleep 1; done' >/dev/null 2>&1 &`,
		"ignores signals":   `setsid bash -c 'trap "" TERM INT HUP; echo $$ > pid; while :; do sleep 1; done' &`,
		"stopped":           `setsid bash -c 'echo $$ > pid; kill -STOP $$' &`,
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, nil)
			c.ok("bash", args{"command": command + "\nuntil [ -s pid ]; do sleep 0.01; done"})
			pid := strings.TrimSpace(get(t, filepath.Join(c.root, "pid")))
			if _, err := os.Stat(filepath.Join("/proc", pid)); !os.IsNotExist(err) {
				t.Errorf("process %s is still there: %v", pid, err)
			}
		})
	}
}

func TestCancellingCallEndsCommand(t *testing.T) {
	c := serve(t, nil)
	alive := filepath.Join(c.root, "alive")
	if err := syscall.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.try(ctx, "bash", args{"command": "exec 9>alive; setsid sleep 1000 & echo begun >&9; wait"})
	}()
	// The pipe is closed when the last process that has it open ends.
	pipe, err := os.Open(alive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pipe.Close() })
	begun := make([]byte, len("begun\n"))
	if _, err := io.ReadFull(pipe, begun); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-done
	if err := pipe.SetReadDeadline(time.Now().Add(patience.Limit())); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(pipe); err != nil {
		t.Errorf("the command still runs: %v", err)
	}
}

func TestBashLimitsProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are counted on Linux only")
	}
	c := serve(t, nil, func(o *workspace.Options) { o.Shell.MaxProcesses = 200 })
	c.fails("bash", args{"command": "for i in $(seq 400); do sleep 1000 & done; echo all started; wait"}, "processes and threads at once, and may have 200]", "[exit code 137, ")
	contains(t, c.ok("bash", args{"command": "for i in $(seq 20); do sleep 0.01 & done; wait; echo done"}), "done\n[exit code 0, ")
	contains(t, c.ok("bash", args{"command": "ulimit -u; echo \"$0 $#\""}), "1600\nbash 0\n[exit code 0, ")
}
