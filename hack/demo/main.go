// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command demo runs what a newcomer wants to see first: a real Kubernetes API on this machine with Nestor's kinds and the
// samples in it. It keeps running until Ctrl-C and leaves no process behind.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nestor-dev/nestor/internal/localcluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	dir := os.Getenv("DEMO_DIR")
	if dir == "" {
		dir = ".demo"
	}
	start := time.Now()
	say := func(step string) { fmt.Printf("[%5.1fs] %s\n", time.Since(start).Seconds(), step) }
	cluster, err := localcluster.Start(ctx, localcluster.Options{StateDir: filepath.Join(dir, "cluster"), Progress: say})
	if err != nil {
		return err
	}
	defer func() {
		say("stopping")
		err = errors.Join(err, cluster.Stop())
	}()
	say("applying the samples")
	out, err := exec.CommandContext(ctx, cluster.Kubectl, "--kubeconfig", cluster.Kubeconfig, "apply", "-k", "config/samples").CombinedOutput()
	if err != nil {
		return fmt.Errorf("apply the samples: %w\n%s", err, out)
	}
	say("ready; the state is kept in " + dir + " (make demo-clean removes it)")
	fmt.Printf(`
Look at it from another terminal:

  export KUBECONFIG=%s PATH=%s:$PATH
  kubectl get nestor
  kubectl explain agenttask.spec
  kubectl apply -f test/invalid-examples   # every file is refused, and says why

Ctrl-C stops everything.
`, cluster.Kubeconfig, filepath.Dir(cluster.Kubectl))
	<-ctx.Done()
	return nil
}
