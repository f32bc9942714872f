// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bufio"
	"context"
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

// Shell runs the commands of a page: a bash that keeps its variables, functions and directory between commands.
type Shell struct {
	cmd      *exec.Cmd
	scratch  string
	commands *os.File
	codes    *bufio.Reader
	count    int
}

// commandLoop sources the files whose names it reads, and prints their exit codes. Background processes must not keep the
// pipes open.
const commandLoop = `set -o pipefail
while IFS= read -r page_order <&3; do
	. "$page_order" >"$page_order.out" 2>&1 </dev/null 3<&- 4>&-
	echo $? >&4
done`

// NewShell starts a shell in a directory. It stores its files in scratch, and ends with ctx.
func NewShell(ctx context.Context, dir, scratch string, env []string) (*Shell, error) {
	theirs, orders, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	back, codes, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	cmd := exec.CommandContext(ctx, "bash", "--norc", "-c", commandLoop)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = dir, env, []*os.File{theirs, codes}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	return &Shell{cmd: cmd, scratch: scratch, commands: orders, codes: bufio.NewReader(back)}, errors.Join(theirs.Close(), codes.Close())
}

// Run runs a command, waits for its end, and returns its output and exit code.
func (s *Shell) Run(command string) (output string, code int, err error) {
	s.count++
	order := filepath.Join(s.scratch, strconv.Itoa(s.count))
	if err := os.WriteFile(order, []byte(command+"\n"), 0o600); err != nil {
		return "", 0, fmt.Errorf("pass the command to the shell: %w", err)
	}
	if _, err := fmt.Fprintln(s.commands, order); err != nil {
		return "", 0, fmt.Errorf("pass the command to the shell: %w", err)
	}
	line, err := s.codes.ReadString('\n')
	printed, _ := os.ReadFile(order + ".out") // a command that ended the shell may have printed nothing
	if errors.Is(err, io.EOF) {
		return string(printed), 0, errors.New("it ended the shell, or timed out")
	}
	if err != nil {
		return string(printed), 0, fmt.Errorf("read from the shell: %w", err)
	}
	code, err = strconv.Atoi(strings.TrimSpace(line))
	return string(printed), code, err
}

// Close kills the shell and everything that still runs in it.
func (s *Shell) Close() error {
	err := s.commands.Close()
	if kill := syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL); kill != nil && !errors.Is(kill, syscall.ESRCH) {
		err = errors.Join(err, kill)
	}
	_ = s.cmd.Wait() // it was killed
	return err
}
