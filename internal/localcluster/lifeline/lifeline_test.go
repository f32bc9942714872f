// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package lifeline_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nestor-dev/nestor/internal/localcluster/lifeline"
	"github.com/nestor-dev/nestor/test/patience"
)

// parentVariable makes this test binary the parent that is killed.
const parentVariable = "NESTOR_TEST_LIFELINE_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		child, err := lifeline.Start(exec.Command("sleep", "1000"), syscall.SIGTERM)
		fmt.Println(child.Pid, err)
		select {}
	}
	os.Exit(m.Run())
}

func TestChildEndsWithParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentVariable+"=1")
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSuffix(line, " <nil>\n"))
	if err != nil {
		t.Fatalf("the parent printed %q", line)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("the child does not run: %v", err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	if !patience.Until(func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }) {
		t.Errorf("process %d is still running", pid)
	}
}

func TestCommandKeepsArgumentsAndOutcome(t *testing.T) {
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", `printf '%s|' "$@"; cat; exit 7`, "sh", "a b", "$c", "")
	cmd.Stdout = &out
	p, err := lifeline.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	var exit *exec.ExitError
	if err := p.Terminate(t.Context()); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("it ended with %v, want exit code 7", err)
	}
	if out.String() != "a b|$c||" {
		t.Errorf("it printed %q", out.String())
	}
}

// A lifeline that ends after its process must not signal another process that has reused the id.
func TestEndedProcessIsNotSignalled(t *testing.T) {
	read, line, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	marks, mark, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// The shell below takes the place of the program; it continues in the background, and would be signalled because it is $$.
	cmd := exec.Command("sh", "-c", `kill() { echo killed >&4; }; `+lifeline.Script(syscall.SIGKILL, "echo over >&4"), "lifeline", "true")
	cmd.ExtraFiles = []*os.File{read, mark}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(read.Close(), mark.Close(), line.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := bufio.NewReader(marks).ReadString('\n')
	if err != nil || got != "over\n" {
		t.Errorf("got %q (%v), want no signal", got, err)
	}
}

func TestAMissingProgramIsReported(t *testing.T) {
	p, err := lifeline.Start(exec.Command("/no/such/program"), syscall.SIGKILL)
	if err != nil {
		return
	}
	<-p.Exited()
	if err := p.Terminate(t.Context()); err == nil {
		t.Error("no error")
	}
}
