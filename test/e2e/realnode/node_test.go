// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package realnode_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/nestor-dev/nestor/test/e2e/realnode"
	"github.com/nestor-dev/nestor/test/patience"
)

// TestNothingIsLeft ends nodes in three ways: with Stop, with Ctrl-C, and with SIGKILL of their supervisor.
func TestNothingIsLeft(t *testing.T) {
	for name, end := range map[string]func(*realnode.Node) error{
		"stopped":     (*realnode.Node).Stop,
		"interrupted": func(n *realnode.Node) error { return syscall.Kill(n.Pid, syscall.SIGINT) },
		"killed":      func(n *realnode.Node) error { return syscall.Kill(n.Pid, syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			options := newOptions(t)
			before := traces(t, options.Dir)
			node, err := realnode.Start(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = node.Stop() })
			if during := traces(t, options.Dir); cmp.Equal(before, during) {
				t.Error("a running node has no traces: this test checks the wrong places")
			}
			if err := end(node); err != nil {
				t.Fatal(err)
			}
			<-node.Exited()
			expectGone(t, before, options.Dir)
		})
	}
}

func TestFailedStartLeavesNothing(t *testing.T) {
	options := newOptions(t)
	options.Images = append(options.Images, filepath.Join(t.TempDir(), "no-such-image.tar"))
	before := traces(t, options.Dir)
	var output bytes.Buffer
	options.Out = &output
	if _, err := realnode.Start(t.Context(), options); err == nil || !strings.Contains(output.String(), "no-such-image.tar cannot be imported") {
		t.Errorf("%v: %s", err, output.String())
	}
	expectGone(t, before, options.Dir)
}

// newOptions returns the options of a test node, and skips the test if no node can run here.
func newOptions(t *testing.T) realnode.Options {
	t.Helper()
	if os.Getenv("E2E") == "" || os.Getenv("E2E_KUBECONFIG") != "" {
		t.Skip("make e2e runs this, if it has no other cluster")
	}
	bin, images := os.Getenv("NODE_BIN"), os.Getenv("E2E_IMAGES")
	if err := realnode.Missing(bin); err != nil {
		t.Fatal(err)
	}
	return realnode.Options{
		Bin: bin, Dir: filepath.Join(t.TempDir(), "node"), Out: t.Output(),
		Images: []string{filepath.Join(images, "pause.tar"), filepath.Join(images, "coredns.tar")},
	}
}

// expectGone waits until all traces of the node are gone; after a kill, its cleaner removes them.
func expectGone(t *testing.T, before map[string]string, dir string) {
	t.Helper()
	var diff string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience.Limit(), true, func(context.Context) (bool, error) {
		diff = cmp.Diff(before, traces(t, dir))
		_, err := os.Stat(dir)
		return diff == "" && errors.Is(err, os.ErrNotExist), nil
	})
	if err != nil {
		t.Errorf("traces of the node remain (-before +after), and possibly %s:\n%s", dir, diff)
	}
}

// traces returns everything that a node might leave on the machine.
func traces(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for what, command := range map[string]string{
		"mounts":     "cat /proc/self/mounts",
		"cgroups":    "find /sys/fs/cgroup -maxdepth 2 -type d -name 'nestor-node-*' | sort",
		"processes":  `pgrep -af "$NODE" || true`, // passed as a variable, so that the shell does not match itself
		"interfaces": "ip -o link | cut -d: -f2",
		"rules":      "iptables-save 2>/dev/null | grep -c KUBE || true",
		"files":      "ls -d /run/containerd* /run/netns/* /var/lib/cni /var/lib/kubelet /var/log/pods /var/log/containers /opt/cni /opt/containerd /opt/nri /etc/cni /usr/libexec/kubernetes 2>/dev/null || true",
		"kernel":     "sysctl vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes",
	} {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
		cmd.Env = append(os.Environ(), "NODE="+dir)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("list %s: %v", what, err)
		}
		found[what] = string(out)
	}
	return found
}
