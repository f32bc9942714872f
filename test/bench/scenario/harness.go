// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/bench/drive"
	"github.com/nestor-dev/nestor/test/bench/measure"
	"github.com/nestor-dev/nestor/test/stack"
)

const (
	// namespace is the namespace of all measured objects.
	namespace = "bench"
	// workerRole is the role of the agents whose turns are measured.
	workerRole = "worker"
)

// harness is a stack with its driver and measurements.
type harness struct {
	stack  *stack.Stack
	api    *drive.Client
	ledger *measure.Ledger
	logf   func(format string, args ...any)
	// toolServer is the MCP server, in scenarios that have one.
	toolServer *stack.Process
	// cleanups are the cleanups of a scenario.
	cleanups []func() error
	// operators are the running operators.
	operators []*operator
	// profiled means that profiles are taken.
	profiled bool
}

func startHarness(ctx context.Context, env Environment, s Scenario) (r *harness, err error) {
	r = &harness{logf: env.Logf, profiled: env.Profiles != ""}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.stop())
		}
	}()
	script, err := writeScript(s.script)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.Remove(script)) }()
	// Recording and validating requests is for tests: here the model should use little CPU.
	options := stack.Options{
		Ledger: env.Ledger, Durable: true, Programs: env.Programs, Scripts: []string{script},
		ModelFlags: []string{"--record=-1", "--strict=false"}, OperatorFlags: env.OperatorFlags,
		Build: []string{ToolPackage}, NoOperator: !s.gateway, Gateway: s.gateway,
	}
	if s.replicas != nil {
		options.Ledger = stack.PostgreSQL
	}
	started, err := stack.Start(ctx, options)
	if err != nil {
		return r, err // it was stopped
	}
	r.stack = started
	if r.ledger, err = measure.OpenLedger(r.stack.LedgerURL); err != nil {
		return r, err
	}
	if s.gateway { // the stack has started the operator
		r.operators = []*operator{newOperator(r.stack)}
	} else if err := r.startOperators(ctx, s.replicas); err != nil {
		return r, err
	}
	r.api, err = drive.NewClient(r.stack.Cluster.Config)
	return r, err
}

func (r *harness) stop() error {
	var errs []error
	for _, end := range r.cleanups {
		errs = append(errs, end())
	}
	if r.ledger != nil {
		errs = append(errs, r.ledger.Close())
	}
	for _, o := range r.operators {
		errs = append(errs, o.stop())
	}
	if r.stack != nil {
		errs = append(errs, r.stack.Stop())
	}
	return errors.Join(errs...)
}

// prepare creates what agents need, and runs a warm-up agent.
func (r *harness) prepare(ctx context.Context, s Scenario) error {
	limited, cancel := context.WithTimeoutCause(ctx, warmTimeout, fmt.Errorf("the first agent did not end within %s", warmTimeout))
	defer cancel()
	provider := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	provider.Spec.BaseURL, provider.Spec.DefaultModel, provider.Spec.MaxConcurrentRequests = r.stack.ModelURL, "scripted", 20_000
	worker := role(workerRole, "You work.", s.Tool.allow)
	orchestrator := role("orchestrator", "You lead.")
	orchestrator.Spec.Delegation = &v1beta1.Delegation{Roles: []v1beta1.Name{workerRole}}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := r.stack.API.Create(limited, space); err != nil {
		return fmt.Errorf("create the namespace: %w", err)
	}
	if err := errors.Join(r.stack.API.Create(limited, provider), r.stack.API.Create(limited, worker), r.stack.API.Create(limited, orchestrator)); err != nil {
		return fmt.Errorf("create the provider and the roles: %w", err)
	}
	if err := r.serveTool(limited, s.Tool); err != nil {
		return err
	}
	warmUp := newTasks("warm-up", r.warmUps(), s.warm)
	if err := warmUp.run(limited, r); err != nil {
		return err
	}
	if s.prepare == nil {
		return nil
	}
	return s.prepare(limited, r)
}

// warmUps returns the number of warm-up agents: enough that each of several operators has one.
func (r *harness) warmUps() int {
	if len(r.operators) == 1 {
		return 1
	}
	return 10 * len(r.operators)
}

// role returns a role without limits that a scenario could reach.
func role(name, prompt string, tools ...v1beta1.ToolGlob) *v1beta1.AgentRole {
	r := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	r.Spec.SystemPrompt = prompt
	r.Spec.Tools = &v1beta1.RoleTools{Allow: append([]v1beta1.ToolGlob{}, tools...)}
	r.Spec.Limits = &v1beta1.RoleLimits{MaxIterations: 1000, MaxDurationSeconds: 86400}
	return r
}

// processes returns the processes of the stack, by their names in the report.
func (r *harness) processes() (map[string][]int, error) {
	pids := map[string][]int{"model": {r.stack.Model.Pid}, "driver": {os.Getpid()}}
	for _, o := range r.operators {
		pids["operator"] = append(pids["operator"], o.Pid)
	}
	if r.toolServer != nil {
		pids["tool server"] = []int{r.toolServer.Pid}
	}
	controlPlane, err := measure.ControlPlane(r.stack.Cluster.Kubeconfig)
	for name, pid := range controlPlane {
		pids[name] = []int{pid}
	}
	return pids, err
}
