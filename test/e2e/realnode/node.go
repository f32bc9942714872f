// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Options configure a node.
type Options struct {
	// Bin is the directory that `make node` has filled.
	Bin string
	// Dir is the directory of the node's state, which must not exist and is removed afterwards. Empty means a
	// temporary one.
	Dir string
	// Images are the image archives of the node, including pause and coredns.
	Images []string
	// Repository is the prefix of names by which pods refer to images by digest; empty if they do not.
	Repository string
	// Out receives progress output.
	Out io.Writer
}

// Node is a cluster of one node.
type Node struct {
	// Kubeconfig is an administrator's kubeconfig, for a loopback port.
	Kubeconfig string
	// Pid is the process of the script.
	Pid int

	input  io.Closer
	exited chan struct{}
	err    error
}

// Missing returns an error if this machine cannot run a node.
func Missing(bin string) error {
	if os.Geteuid() != 0 {
		return errors.New("a real node needs root: run as root, or give a cluster with E2E_KUBECONFIG")
	}
	if _, err := os.Stat(filepath.Join(bin, "kubelet")); err != nil {
		return fmt.Errorf("the programs of a node are missing: run make node (%w)", err)
	}
	return nil
}

// Start runs a node and waits until pods can run on it.
func Start(ctx context.Context, o Options) (*Node, error) {
	script, err := findScript(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(script, o.Images...) //nolint:noctx // ended by its input
	cmd.Env = append(os.Environ(), "NODE_BIN="+o.Bin)
	if o.Dir != "" {
		cmd.Env = append(cmd.Env, "NODE_DIR="+o.Dir)
	}
	if o.Repository != "" {
		cmd.Env = append(cmd.Env, "NODE_REPOSITORY="+o.Repository)
	}
	// A separate process group: Ctrl-C is for the caller, which stops the node in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Minute // for processes that still have its output open
	stdout, out := io.Pipe()
	cmd.Stdout, cmd.Stderr = out, out
	n := &Node{exited: make(chan struct{})}
	if n.input, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the node: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the node: %w", err)
	}
	n.Pid = cmd.Process.Pid
	go func() {
		n.err = cmd.Wait()
		_ = out.Close()
		close(n.exited)
	}()
	ready := make(chan string, 1)
	go forwardOutput(stdout, o.Out, ready)
	select {
	case n.Kubeconfig = <-ready:
		return n, nil
	case <-n.exited:
		return nil, fmt.Errorf("the node did not start: %w", n.err)
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), n.Stop())
	}
}

// readyLine matches the script's output when pods can run.
var readyLine = regexp.MustCompile(`^node: ready after \d+ s: (.+)$`)

// forwardOutput forwards the script's output, and sends the kubeconfig when the node is ready.
func forwardOutput(stdout io.Reader, out io.Writer, ready chan<- string) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		fmt.Fprintln(out, lines.Text())
		if found := readyLine.FindStringSubmatch(lines.Text()); found != nil {
			ready <- found[1]
		}
	}
}

// Stop stops the node, and waits until everything is removed.
func (n *Node) Stop() error {
	err := n.input.Close()
	<-n.exited
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return errors.Join(err, n.err)
}

// Exited is closed when the script has ended.
func (n *Node) Exited() <-chan struct{} { return n.exited }

// killScript kills the processes of a program in a pod. It runs in the node's PID namespace.
const killScript = `killed=1; for pid in $(pgrep -x "$1"); do grep -q "pod$2" "/proc/$pid/cgroup" && kill -KILL "$pid" && killed=0; done; exit $killed`

// Kill sends SIGKILL to a program in a pod, like the OOM killer.
func (n *Node) Kill(ctx context.Context, podUID, program string) error {
	first, err := os.ReadFile(filepath.Join(filepath.Dir(n.Kubeconfig), "run", "init.pid"))
	if err != nil {
		return fmt.Errorf("find the node's first process: %w", err)
	}
	const commLength = 15 // of a process' name, as the kernel keeps it
	program = program[:min(len(program), commLength)]
	output, err := exec.CommandContext(ctx, "nsenter", "-t", strings.TrimSpace(string(first)), "-m", "-p", "--",
		"bash", "-c", killScript, "kill", program, podUID).CombinedOutput()
	if err != nil {
		return fmt.Errorf("kill %s in pod %s: %w: %s", program, podUID, err, output)
	}
	return nil
}

func findScript(ctx context.Context) (string, error) {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "hack", "realnode", "run.sh"), nil
}
