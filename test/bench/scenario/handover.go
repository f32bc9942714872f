// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/shard"
	"github.com/nestor-dev/nestor/test/bench/report"
)

const (
	// sigterm and sigkill are the ways in which an operator ends.
	sigterm = "sigterm"
	sigkill = "sigkill"

	// handOverAgents make handOverTurns each, and one agent in slowShare makes calls of slowLatency at the same time.
	handOverAgents  = 60
	handOverTurns   = 150
	handOverLatency = 200 * time.Millisecond
	slowShare       = 5
	slowLatency     = 10 * time.Second
	slowTurns       = 2
	slowRole        = "slow"
	// handOverWindow is how long after the end of the operator pauses count.
	handOverWindow = 20 * time.Second
)

// HandOver is newHandOver with the numbers of the report.
func HandOver(how string, n int) Scenario {
	s := newHandOver(how, n, handOverTurns, slowLatency)
	if n != handOverAgents {
		s.Name += fmt.Sprintf("-%d", n)
	}
	return s
}

// newHandOver ends one of three operators while all their agents are active, and measures how long the agents of its
// shards make no step. Others of its agents have slow model calls in flight.
func newHandOver(how string, n, turns int, slowLatency time.Duration) Scenario {
	s := Scenario{
		Name: "handover-" + how, Title: fmt.Sprintf("%s of one of 3 operators on PostgreSQL with %d active agents that use an MCP tool, latency %d ms, and %d with latency %s",
			how, n, handOverLatency.Milliseconds(), n/slowShare, slowLatency),
		Agents: n, ToolTurns: turns, Latency: handOverLatency, Tool: MCPTool, warm: "Success",
		script: turnsScript(MCPTool, turns, handOverLatency), replicas: &replicas{count: 3},
	}
	var slow *recordedModel
	s.prepare = func(ctx context.Context, r *harness) (err error) {
		slow, err = serveSlow(ctx, r, slowLatency)
		return err
	}
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		h := &handOver{harness: r, how: how, slow: slow, began: time.Now(), slowCalls: n / slowShare * (slowTurns + 1)}
		return h.run(ctx, n, result)
	}
	return s
}

// serveSlow runs the slow model, and creates its provider and its role.
func serveSlow(ctx context.Context, r *harness, latency time.Duration) (*recordedModel, error) {
	slow, url, err := serveRecorded(r, turnsScript(MCPTool, slowTurns, latency))
	if err != nil {
		return nil, err
	}
	provider := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: slowProvider}}
	provider.Spec.BaseURL, provider.Spec.DefaultModel, provider.Spec.MaxConcurrentRequests = url, "scripted", 1000
	made := role(slowRole, "You work slowly.", MCPTool.allow)
	made.Spec.ModelProvider = slowProvider
	if err := errors.Join(r.stack.API.Create(ctx, provider), r.stack.API.Create(ctx, made)); err != nil {
		return nil, fmt.Errorf("create the slow provider and its role: %w", err)
	}
	return slow, nil
}

type handOver struct {
	*harness

	how   string
	slow  *recordedModel
	began time.Time
	// signalled is when the operator got its signal, ended how long it took to end, and lost are its shards.
	signalled time.Time
	ended     time.Duration
	lost      map[int]bool
	// slowCalls is the number of calls that the slow agents need.
	slowCalls int
}

func (h *handOver) run(ctx context.Context, n int, result *report.Result) error {
	fast, slow := newTasks("agent", n, "Success"), newTasksWithRole("slow", slowRole, n/slowShare, "Success")
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return fast.run(ctx, h.harness) })
	group.Go(func() error { return slow.run(ctx, h.harness) })
	group.Go(func() error { return h.endOne(ctx, n) })
	err := group.Wait()
	fast.report(result)
	slow.report(result)
	result.WallSeconds = fast.wall().Seconds()
	return errors.Join(err, h.report(context.WithoutCancel(ctx), result))
}

// endOne ends an operator when all agents are active.
func (h *handOver) endOne(ctx context.Context, n int) error {
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		calls, err := h.ledger.ModelCalls(ctx, h.began)
		return calls >= int64(10*n) && h.slow.active() == n/slowShare, err
	})
	if err != nil {
		return fmt.Errorf("the agents were not active at the same time: %w", err)
	}
	_, holders, err := h.ledger.Owners(ctx)
	if err != nil {
		return err
	}
	victim := h.operators[1]
	h.lost = map[int]bool{}
	for shard, holder := range holders {
		if holder == victim.id {
			h.lost[shard] = true
		}
	}
	h.operators = slices.DeleteFunc(slices.Clone(h.operators), func(o *operator) bool { return o == victim })
	h.cleanups = append(h.cleanups, victim.stop)
	h.logf("  ending an operator with %d shards by %s", len(h.lost), h.how)
	h.signalled = time.Now()
	signal := syscall.SIGTERM
	if h.how == sigkill {
		signal = syscall.SIGKILL
	}
	if err := victim.Signal(signal); err != nil {
		return err
	}
	select {
	case <-victim.Exited():
		h.ended = time.Since(h.signalled)
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait until the operator has ended: %w", context.Cause(ctx))
	}
}

// report adds the pauses of the agents around the end of the operator.
func (h *handOver) report(ctx context.Context, result *report.Result) error {
	if h.signalled.IsZero() {
		return nil
	}
	pauses, err := h.ledger.Pauses(ctx, workerRole, h.began)
	if err != nil {
		return err
	}
	var lost, others, before []float64
	for _, p := range pauses {
		took := max(0, p.To.Sub(p.From)-handOverLatency).Seconds()
		switch affected := h.lost[shard.Count(shards).Of(p.Hash)]; {
		case p.To.Before(h.signalled):
			before = append(before, took)
		case p.From.After(h.signalled.Add(handOverWindow)):
		case affected:
			lost = append(lost, took)
		default:
			others = append(others, took)
		}
	}
	requests := h.slow.ended()
	if len(requests) > h.slowCalls {
		for _, r := range requests {
			h.logf("  slow model call from %s to %s after the signal: %s", r.began.Sub(h.signalled), r.ended.Sub(h.signalled), r.call)
		}
	}
	inFlight := 0
	for _, r := range requests {
		if r.began.Before(h.signalled) && r.ended.After(h.signalled) {
			inFlight++
		}
	}
	result.Figures = append(result.Figures,
		report.Figure{Name: report.FigureLongestPause, Value: largest(lost), Unit: "s"},
		report.Figure{Name: "longest time without a step, agents of the other operators", Value: largest(others), Unit: "s"},
		report.Figure{Name: "longest time without a step before that", Value: largest(before), Unit: "s"},
		report.Figure{Name: "shards of the operator that ended", Value: float64(len(h.lost))},
		report.Figure{Name: "operator ended after", Value: h.ended.Seconds(), Unit: "s"},
		report.Figure{Name: "slow model calls in flight at that time, of all operators", Value: float64(inFlight)},
		report.Figure{Name: report.FigureRepeated, Value: float64(len(requests) - h.slowCalls)})
	return nil
}

func largest(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Max(values)
}
