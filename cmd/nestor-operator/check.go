// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/diagnose"
	"github.com/nestor-dev/nestor/internal/operator"
	"github.com/nestor-dev/nestor/internal/program"
)

// checkPeriod is the interval between two rounds of checks.
const checkPeriod = 2 * time.Second

// check tests from outside, with its own service account, whether an installation works. `helm test` runs it.
type check struct {
	kubeconfig, namespace, provider string
	history                         bool
	timeout                         time.Duration
}

// runCheck runs `nestor-operator check`.
func runCheck(ctx context.Context, args []string, stdout io.Writer) error {
	var c check
	set := flag.NewFlagSet("nestor-operator check", flag.ContinueOnError)
	set.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig `file` of the cluster (default: the pod's own, or $KUBECONFIG)")
	set.StringVar(&c.namespace, "namespace", program.OperatorNamespace(), "namespace in which the calculator is run")
	set.StringVar(&c.provider, "provider", "", "`name` of a ModelProvider that must be ready")
	set.BoolVar(&c.history, "history", true, "the history API must be served")
	set.DurationVar(&c.timeout, "timeout", 2*time.Minute, "timeout until the installation is healthy")
	if err := program.ParseCommand(set, args, stdout); err != nil {
		return err
	}
	return c.run(ctx, stdout)
}

func (c check) run(ctx context.Context, stdout io.Writer) error {
	target, err := c.target()
	if err != nil {
		return err
	}
	findings, err := c.waitUntilHealthy(ctx, target)
	for _, f := range findings {
		fmt.Fprintf(stdout, "%-8s %-10s %s\n", f.Status, f.Check, f.Message)
		if f.Advice != "" {
			fmt.Fprintf(stdout, "%-8s %-10s %s\n", "", "", f.Advice)
		}
	}
	return err
}

// waitUntilHealthy repeats the checks until all pass or the time is up, and returns the last findings. It completes at least one round.
func (c check) waitUntilHealthy(ctx context.Context, target diagnose.Target) ([]diagnose.Finding, error) {
	patience := time.After(c.timeout)
	for {
		findings := target.ExamineInstallation(ctx)
		if c.well(findings) {
			return findings, nil
		}
		select {
		case <-ctx.Done():
			return findings, ctx.Err()
		case <-patience:
			return findings, fmt.Errorf("the installation is not healthy after %s", c.timeout)
		case <-time.After(checkPeriod):
		}
	}
}

// well reports whether every installed part is healthy.
func (c check) well(findings []diagnose.Finding) bool {
	for _, f := range findings {
		if f.Check == diagnose.CheckHistory && !c.history {
			continue
		}
		if f.Status != diagnose.OK {
			return false
		}
	}
	return true
}

func (c check) target() (diagnose.Target, error) {
	config, err := program.ClientConfig(c.kubeconfig, "nestor-operator")
	if err != nil {
		return diagnose.Target{}, err
	}
	api, err := client.NewWithWatch(config, client.Options{Scheme: operator.NewScheme()})
	if err != nil {
		return diagnose.Target{}, fmt.Errorf("connect to the cluster: %w", err)
	}
	discover, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return diagnose.Target{}, fmt.Errorf("connect to the cluster: %w", err)
	}
	return diagnose.Target{
		API: api, Discovery: discover, Host: config.Host, Namespace: c.namespace, OperatorNamespace: program.OperatorNamespace(), Provider: c.provider, Probe: true,
	}, nil
}
