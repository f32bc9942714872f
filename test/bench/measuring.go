// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/nestor-dev/nestor/test/bench/measure"
	"github.com/nestor-dev/nestor/test/bench/report"
	"github.com/nestor-dev/nestor/test/bench/scenario"
	"github.com/nestor-dev/nestor/test/stack"
)

// measure runs the scenarios sequentially. The report is written after each, so that an interrupted run has one too.
func (o *options) measure(ctx context.Context, stdout, stderr io.Writer) (err error) {
	chosen, err := scenario.Choose(o.scenarios)
	if err != nil {
		return err
	}
	if o.ledger != stack.SQLite && o.ledger != stack.PostgreSQL {
		return fmt.Errorf("--ledger must be %s or %s, not %q", stack.SQLite, stack.PostgreSQL, o.ledger)
	}
	// Built once, so that all scenarios measure the same code even if the sources change meanwhile.
	programs, err := os.MkdirTemp("", "nestor-bench-")
	if err != nil {
		return fmt.Errorf("create a directory for the programs: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(programs)) }()
	whole := slices.ContainsFunc(chosen, scenario.Scenario.NeedsStack)
	if whole {
		if err := stack.Build(ctx, programs, scenario.ToolPackage); err != nil {
			return err
		}
	}
	env := scenario.Environment{Ledger: o.ledger, Programs: programs, OperatorFlags: strings.Fields(o.operatorFlags), Timeout: o.timeout}
	env.Logf = func(format string, args ...any) {
		fmt.Fprintf(stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
	}
	if o.pprof {
		env.Profiles = filepath.Join(o.out, o.name+"-profiles")
	}
	r := &report.Report{At: time.Now().UTC().Truncate(time.Second), Version: version(ctx), Ledger: o.ledger, OperatorFlags: o.operatorFlags, Machine: measure.Machine()}
	if o.bounds > 0 {
		env.Logf("measuring the bounds of this machine")
		if r.Bounds, err = bounds(ctx, programs, whole, o.bounds); err != nil {
			return err
		}
		env.Logf("  %s", r.Bounds)
	}
	for i, s := range chosen {
		env.Logf("%d of %d: %s: %s", i+1, len(chosen), s.Name, s.Title)
		result := s.Run(ctx, env)
		r.Results = append(r.Results, result)
		env.Logf("  %s", result)
		if costs := r.Costs(result); costs != "" {
			env.Logf("  %s", costs)
		}
		if err := r.Write(o.out, o.name); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	for _, v := range r.TargetRows() {
		if v.Verdict != report.NotMeasured {
			fmt.Fprintf(stdout, "%s: %s: %s (%s)\n", strings.Trim(v.Verdict, "*"), v.What, v.Figure, v.Reach)
		}
	}
	if o.markdown != "" {
		if err := publish(r, o.markdown); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "%s\n", filepath.Join(o.out, o.name+".md"))
	return nil
}

// bounds measures the disk of a directory and, if a whole stack is to run, a control plane without an operator.
func bounds(ctx context.Context, programs string, whole bool, each time.Duration) (b report.Bounds, err error) {
	if whole {
		if b, err = controlPlaneBounds(ctx, programs, each); err != nil {
			return b, err
		}
	}
	return b, measure.Disk(ctx, programs, each, &b)
}

func controlPlaneBounds(ctx context.Context, programs string, each time.Duration) (b report.Bounds, err error) {
	s, err := stack.Start(ctx, stack.Options{Programs: programs, NoOperator: true})
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	operator, err := clientcmd.BuildConfigFromFlags("", s.OperatorKubeconfig)
	if err != nil {
		return b, fmt.Errorf("read the operator's kubeconfig: %w", err)
	}
	processes, err := measure.ControlPlane(s.Cluster.Kubeconfig)
	if err != nil {
		return b, err
	}
	return measure.Bounds(ctx, s.Cluster.Config, operator, processes, each)
}

// version returns the measured commit.
func version(ctx context.Context) string {
	output, err := exec.CommandContext(ctx, "git", "describe", "--tags", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(output))
}
