// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// Policies judge the calls of agents, from memory.
type Policies interface {
	// Apply reports whether policies may restrict the agents of a namespace. It reports true while they are not known.
	Apply(namespace string) bool
	// Judge returns the verdicts of all policies that match a call. An error is why the call cannot be judged now, also
	// that the context has ended: the call waits.
	Judge(ctx context.Context, in PolicyInput) ([]agent.Verdict, error)
}

// PolicyInput is a call with what policies may know about it.
type PolicyInput struct {
	Call agent.PlannedCall
	// Agent makes the call. Role is empty for a person's task of type Tool.
	Agent ledger.Agent
	Role  string
	Depth int
	// Root describes the root of the agent's tree.
	Root func(ctx context.Context) (PolicyRoot, error)
	// Labels are the content labels of the agent.
	Labels []string
	// Usage is that of the whole tree, with what is reserved for calls in flight.
	Usage budget.Amount
	Now   time.Time
}

// PolicyRoot is the agent at the root of a tree, for policies.
type PolicyRoot struct {
	// Task is the name of its task or chat, which differs from that of the agent if another agent had the name.
	Task string
	// Requesters are the people who requested the work.
	Requesters agent.Requesters
}

// judgeTimeout bounds the evaluation of the policies for all calls that are judged together.
const judgeTimeout = 2 * time.Second

// policyRetryDelay is how long calls wait that could not be judged, before they are judged again.
const policyRetryDelay = 2 * time.Second

// judgeLater judges the calls again that could not be judged. No event is recorded until there is a verdict, or
// another reason.
func (a *actor) judgeLater() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.judgesLater {
		return
	}
	a.judgesLater = true
	time.AfterFunc(policyRetryDelay, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.judgesLater = false
		if a.engine.ctx.Err() == nil {
			a.enqueueLocked(delivery{judge: true})
		}
	})
}

func (a *actor) policed(namespace string) bool {
	policies := a.engine.options.Policies
	return policies != nil && policies.Apply(namespace)
}

// applyPolicies makes the core aware of whether policies apply, before the fact that may lead to calls. The facts that
// begin a period of an agent contain it: nothing may be recorded before them.
func (a *actor) applyPolicies(r *stepResult, d delivery, now time.Time) agent.Fact {
	policed := a.policed(r.record.Namespace)
	switch f := d.fact.(type) {
	case agent.Started:
		f.Policed = d.create != nil && a.policed(d.create.Namespace)
		return f
	case agent.Restarted:
		f.Policed = policed
		return f
	case agent.Resumed:
		f.Policed = policed
		return f
	}
	if s := r.next; s.Policed != policed && s.Phase != agent.PhaseNew && !s.Phase.Terminal() && !d.quarantine {
		a.stepFact(r, delivery{fact: agent.Judged{Policed: policed}}, now)
	}
	return d.fact
}

// judge judges the calls that wait for a verdict, until none does: one that ends at once may let the next one start.
func (a *actor) judge(r *stepResult, now time.Time) {
	for {
		calls := agent.Unjudged(r.next)
		if len(calls) == 0 || r.end || r.quarantine {
			return
		}
		fact := a.verdicts(r, calls, now)
		if fact.Waits != "" {
			a.judgeLater()
		}
		before, events := r.next, len(r.events)
		a.stepFact(r, delivery{fact: fact}, now)
		if fact.Waits != "" || len(r.events) == events {
			return
		}
		a.recordRefused(r, before, fact, now)
	}
}

// verdicts judges calls. If one of them cannot be judged, all wait: the calls of a reply belong together.
func (a *actor) verdicts(r *stepResult, calls []agent.PlannedCall, now time.Time) agent.Judged {
	fact := agent.Judged{Policed: a.policed(r.record.Namespace)}
	if !fact.Policed {
		return fact
	}
	usage, labels, c := a.engine.budgets.RootUsage(a.uid, r.record.Parent, r.record.Root), r.next.LabelNames(), r.next.Config
	ctx, cancel := context.WithTimeout(a.engine.ctx, judgeTimeout)
	defer cancel()
	role := c.Role.Name
	if c.Kind == agent.ToolRun {
		var err error
		if role, err = a.callerRole(ctx, r); err != nil {
			return agent.Judged{Policed: true, Waits: "the caller's role is not known: " + err.Error()}
		}
	}
	for _, call := range calls {
		in := PolicyInput{
			Call: call, Agent: r.record, Role: role, Depth: c.Depth, Labels: labels, Usage: usage, Now: now,
			Root: func(ctx context.Context) (PolicyRoot, error) { return a.policyRoot(ctx, r) },
		}
		verdicts, err := a.engine.options.Policies.Judge(ctx, in)
		if err != nil {
			return agent.Judged{Policed: true, Waits: err.Error()}
		}
		last := len(fact.Calls) - 1
		if last >= 0 && fact.Calls[last].Call == call.Call { // another child of the same call
			fact.Calls[last].Verdicts = append(fact.Calls[last].Verdicts, verdicts...)
			continue
		}
		fact.Calls = append(fact.Calls, agent.JudgedCall{Call: call.Call, Labels: labels, Verdicts: verdicts})
	}
	return fact
}

// callerRole returns the role of the orchestrator that runs a tool as a task, or "" for a person's task.
func (a *actor) callerRole(ctx context.Context, r *stepResult) (string, error) {
	if r.record.Parent == "" {
		return "", nil
	}
	caller, err := a.engine.View(ctx, r.record.Parent)
	return caller.Config.Role.Name, err
}

// policyRoot describes the root of the agent's tree, which may be the agent itself.
func (a *actor) policyRoot(ctx context.Context, r *stepResult) (PolicyRoot, error) {
	root, err := r.next, error(nil)
	if r.record.Root != a.uid {
		root, err = a.engine.View(ctx, r.record.Root)
	}
	return PolicyRoot{Task: root.Config.ChildName(), Requesters: root.Requesters}, err
}

// recordRefused records the tool calls that policies have denied. They never run, so their rows start and end with the
// verdict.
func (a *actor) recordRefused(r *stepResult, before agent.State, f agent.Judged, now time.Time) {
	for _, judged := range f.Calls {
		c, found := findCall(before, judged.Call)
		denied, ok := denial(judged)
		if !found || !ok || !before.IsPlainTool(c.Tool) {
			continue
		}
		a.recordRow(r, c, "policy "+denied.Policy, now)
	}
}

// denial returns the first verdict that denies a call.
func denial(judged agent.JudgedCall) (agent.Verdict, bool) {
	for _, v := range judged.Verdicts {
		if v.Action == agent.PolicyDeny && !v.Audit {
			return v, true
		}
	}
	return agent.Verdict{}, false
}

// recordRow records a call that never runs. One that has begun has a row.
func (a *actor) recordRow(r *stepResult, c agent.BatchCall, deniedBy string, now time.Time) {
	if c.Input != nil || c.Unverified || c.Repeats > 0 {
		return
	}
	run := agent.RunTool{Call: c.ID, ModelCall: c.ModelCall, Tool: c.Tool, Arguments: []byte(c.Arguments)}
	row := a.toolIntent(r, run, r.newest(), now)
	row.Decision, row.DecidedBy = ledger.DecisionDeny, deniedBy
	r.batch.ToolCalls = append(r.batch.ToolCalls, row)
	result := ledger.ToolResult{Key: row.Key, Status: ledger.StatusDenied, FinishedAt: now}
	r.batch.ToolResults = append(r.batch.ToolResults, result)
}
