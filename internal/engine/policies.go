// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// Policies judge the calls of agents, from memory.
type Policies interface {
	// Apply reports whether policies may restrict the agents of a namespace. It reports true while they are not known.
	Apply(namespace string) bool
	// Judge returns the verdicts of all policies that match a call, and whether the call may write. An error is why the call
	// cannot be judged now, also that the context has ended: the call waits.
	Judge(ctx context.Context, in PolicyInput) (verdicts []agent.Verdict, writes bool, err error)
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
	// Revisions are the revisions of gated roles that the agent's tree has pinned.
	Revisions map[string]string
	// Labels are the content labels of the agent.
	Labels []string
	// Usage is that of the whole tree, with what is reserved for calls in flight. It does not contain the call.
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
	case agent.Forked:
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
		usage := a.engine.budgets.RootUsage(a.uid, r.record.Parent, r.record.Root)
		fact := a.verdicts(r, calls, usage, now)
		if !a.reserveWrites(r, fact, usage.Writes) {
			continue // another agent of the tree has begun a write since then
		}
		if fact.Waits != "" {
			a.judgeLater()
		}
		before, events := r.next, len(r.events)
		a.stepFact(r, delivery{fact: fact, usage: &usage}, now)
		if fact.Waits != "" || len(r.events) == events {
			return
		}
		a.recordRefused(r, before, fact, now)
	}
}

// reserveWrites reserves the writes that a verdict starts, until they are part of the recorded state. It reports false if the calls were
// judged with an older number of writes.
func (a *actor) reserveWrites(r *stepResult, fact agent.Judged, judgedWith int64) bool {
	if !slices.ContainsFunc(fact.Calls, func(c agent.JudgedCall) bool { return c.Writes > 0 }) {
		return true
	}
	writes := agent.StartedWrites(r.next, fact)
	if writes > 0 && !a.engine.budgets.ReserveWrites(r.record, judgedWith, writes) {
		return false
	}
	r.granted.Writes += writes
	return true
}

// verdicts judges calls with the usage of the tree. If one of the calls cannot be judged, all wait: the calls of a reply belong together.
func (a *actor) verdicts(r *stepResult, calls []agent.PlannedCall, usage budget.Amount, now time.Time) agent.Judged {
	fact := agent.Judged{Policed: a.policed(r.record.Namespace)}
	if !fact.Policed {
		return fact
	}
	role, depth, sources := r.next.JudgedAs()
	labels := sources.Names()
	ctx, cancel := context.WithTimeout(a.engine.ctx, judgeTimeout)
	defer cancel()
	if r.next.Config.Kind == agent.ToolRun {
		var err error
		if role, err = a.callerRole(ctx, r); err != nil {
			return agent.Judged{Policed: true, Waits: "the caller's role is not known: " + err.Error()}
		}
	}
	judgedWith := usage.Writes
	var starting int64 // the writes of the calls that may start before
	for i, call := range calls {
		if i == 0 || calls[i-1].Call != call.Call {
			fact.Calls = append(fact.Calls, agent.JudgedCall{Call: call.Call, Labels: labels})
		}
		judged := &fact.Calls[len(fact.Calls)-1] // all children of a call share one
		usage.Writes = judgedWith + starting + judged.Writes - call.Counted
		in := PolicyInput{
			Call: call, Agent: r.record, Role: role, Depth: depth, Revisions: r.next.LatestConfig().Revisions, Labels: labels, Usage: usage, Now: now,
			Root: func(ctx context.Context) (PolicyRoot, error) { return a.policyRoot(ctx, r) },
		}
		verdicts, writes, err := a.engine.options.Policies.Judge(ctx, in)
		if err != nil {
			return agent.Judged{Policed: true, Waits: err.Error()}
		}
		judged.Verdicts = append(judged.Verdicts, verdicts...)
		if writes && !call.ByChild { // the child counts it
			judged.Writes++
		}
		if last := i == len(calls)-1 || calls[i+1].Call != call.Call; last && call.Starts(judged.Verdicts) {
			starting += max(0, judged.Writes-call.Counted)
		}
	}
	return fact
}

// recordsUsage reports whether policies judge calls in the step of a fact, or would do so.
func recordsUsage(fact agent.Fact, effects []agent.Effect) bool {
	switch f := fact.(type) {
	case agent.ModelReplied:
		return len(f.Calls) > 0
	case agent.Judged:
		return len(f.Calls) > 0
	}
	return slices.ContainsFunc(effects, func(e agent.Effect) bool {
		switch e.(type) {
		case agent.RunTool, agent.StartChild, agent.AskPerson:
			return true
		}
		return false
	})
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
		denied, ok := judged.Denial(before.Config.Kind)
		if !found || !ok || !before.IsPlainTool(c.Tool) {
			continue
		}
		a.recordRow(r, c, "policy "+denied.Policy, now)
	}
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
