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

// Shell is the terminal in which a page is followed: a bash that keeps its variables, functions and directory from one command to
// the next.
type Shell struct {
	cmd     *exec.Cmd
	scratch string
	orders  *os.File
	codes   *bufio.Reader
	count   int
}

// loop reads one command after the other from the file that it is told, and says how it ended. What runs in the background must not
// hold the way back open.
const loop = `set -o pipefail
while IFS= read -r page_order <&3; do
	. "$page_order" >"$page_order.out" 2>&1 </dev/null 3<&- 4>&-
	echo $? >&4
done`

// NewShell starts a shell in a directory. It keeps what it needs in scratch, and ends with ctx.
func NewShell(ctx context.Context, dir, scratch string, env []string) (*Shell, error) {
	theirs, orders, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	back, codes, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	cmd := exec.CommandContext(ctx, "bash", "--norc", "-c", loop)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = dir, env, []*os.File{theirs, codes}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	return &Shell{cmd: cmd, scratch: scratch, orders: orders, codes: bufio.NewReader(back)}, errors.Join(theirs.Close(), codes.Close())
}

// Run runs a command and waits for its end. It returns what it printed and its exit code.
func (s *Shell) Run(command string) (output string, code int, err error) {
	s.count++
	order := filepath.Join(s.scratch, strconv.Itoa(s.count))
	if err := os.WriteFile(order, []byte(command+"\n"), 0o600); err != nil {
		return "", 0, fmt.Errorf("hand the command to the shell: %w", err)
	}
	if _, err := fmt.Fprintln(s.orders, order); err != nil {
		return "", 0, fmt.Errorf("hand the command to the shell: %w", err)
	}
	said, err := s.codes.ReadString('\n')
	printed, _ := os.ReadFile(order + ".out") // a command that ended the shell may have printed nothing
	if errors.Is(err, io.EOF) {
		return string(printed), 0, errors.New("it ended the shell, or its time was up")
	}
	if err != nil {
		return string(printed), 0, fmt.Errorf("hear from the shell: %w", err)
	}
	code, err = strconv.Atoi(strings.TrimSpace(said))
	return string(printed), code, err
}

// Close ends the shell, and everything that was started in it and still runs.
func (s *Shell) Close() error {
	err := s.orders.Close()
	if kill := syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL); kill != nil && !errors.Is(kill, syscall.ESRCH) {
		err = errors.Join(err, kill)
	}
	_ = s.cmd.Wait() // it was killed
	return err
}
