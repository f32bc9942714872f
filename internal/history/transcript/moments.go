// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// Calls returns a page of about limit call moments: those of the agent's events that come after the event since, and
// not before the time from. The second result is the since of the next page, or 0 if this page is the last.
func (r *Reader) Calls(
	ctx context.Context, uid string, since int64, from time.Time, limit int,
) ([]api.CallMoment, int64, error) {
	c, err := r.Open(ctx, uid, since)
	if err != nil {
		return nil, 0, err
	}
	defer func() { r.cache.add(uid, c.position) }()
	moments := []api.CallMoment{}
	size := 0
	for {
		steps, err := c.steps(ctx, ledger.MaxLimit)
		if err != nil || len(steps) == 0 {
			return moments, 0, err
		}
		for _, step := range steps {
			if len(moments) >= limit || size > pageBytes {
				return moments, c.position.seq, nil
			}
			if step.Record.Seq > since && !step.Record.At.Before(from) {
				stepMoments := step.callMoments()
				for _, m := range stepMoments {
					size += len(m.Arguments)
				}
				moments = append(moments, stepMoments...)
			}
			c.advance(step)
		}
	}
}

// callMoments returns the calls of a step that policies judge, or would judge if any applied to the agent. It includes
// a person's decision.
func (s Step) callMoments() []api.CallMoment {
	if s.Damage != nil {
		return nil
	}
	at := api.CallMoment{Seq: s.Record.Seq, Time: metav1.NewMicroTime(s.Record.At)}
	judged, isJudged := s.Event.Fact.(agent.Judged)
	var moments []api.CallMoment
	if f, ok := s.Event.Fact.(agent.Decided); ok {
		moments = s.decided(at, f)
	}
	if s.After.Policed && !isJudged { // the fact with the verdicts follows
		return moments
	}
	calls := agent.JudgedMoments(s.Before, s.Event)
	usages := s.usages(calls)
	for n, call := range calls {
		m := at
		m.Usage = usages[n]
		m.Kind, m.ToolCall, m.Tool, m.Arguments = api.CallStarts, call.Call, call.Tool, string(call.Arguments)
		m.ReadOnly, m.Control, m.TargetRole = call.ReadOnly, call.Control, call.TargetRole
		m.ContentLabels = contentLabels(call.Labels)
		if call.Role != s.After.Config.Role.Name || call.Depth != s.After.Config.Depth {
			m.JudgedAs = &api.JudgedAs{Role: call.Role, Depth: int32(call.Depth)}
		}
		if call.First {
			m.Kind = api.CallPlanned
		}
		if isJudged && judged.Policed {
			i := slices.IndexFunc(judged.Calls, func(c agent.JudgedCall) bool { return c.Call == call.Call })
			if i < 0 {
				continue
			}
			m.Judged = true
			if last := len(moments) - 1; last < 0 || moments[last].ToolCall != call.Call {
				m.Verdicts = verdicts(judged.Calls[i].Verdicts)
			}
		}
		moments = append(moments, m)
	}
	return moments
}

// usages returns the tree's usage at the judgement of each call, or nil if it was not recorded. Like the operator, it
// counts for each call the writes of the calls before it that may start in the same step.
func (s Step) usages(calls []agent.JudgedMoment) []*api.TreeUsage {
	usages := make([]*api.TreeUsage, len(calls))
	recorded := s.Event.Usage
	if recorded == nil {
		return usages
	}
	judged, _ := s.Event.Fact.(agent.Judged)
	var earlierWrites, callWrites int64 // of the calls before, and of the moments before that belong to the same call
	for n, call := range calls {
		usages[n] = &api.TreeUsage{Tokens: recorded.Tokens, CostMicros: recorded.CostMicros, Tasks: recorded.Tasks,
			Writes: recorded.Writes + earlierWrites + callWrites - call.Counted}
		if !call.ReadOnly && !call.ByChild {
			callWrites++
		}
		if n < len(calls)-1 && calls[n+1].Call == call.Call {
			continue
		}
		var verdicts []agent.Verdict
		if i := slices.IndexFunc(judged.Calls, func(c agent.JudgedCall) bool { return c.Call == call.Call }); i >= 0 {
			callWrites, verdicts = judged.Calls[i].Writes, judged.Calls[i].Verdicts
		}
		if call.Starts(verdicts) {
			earlierWrites += max(0, callWrites-call.Counted)
		}
		callWrites = 0
	}
	return usages
}

// Requesters returns, for each of the times, the people who had requested the work of a tree's root agent by then. The
// times must be in ascending order.
func (r *Reader) Requesters(ctx context.Context, root string, times []time.Time) ([]agent.Requesters, error) {
	c, err := r.Open(ctx, root, 0)
	if err != nil {
		return nil, err
	}
	requesters := make([]agent.Requesters, 0, len(times))
	for {
		steps, err := c.steps(ctx, ledger.MaxLimit)
		if err != nil {
			return nil, err
		}
		for _, step := range steps {
			for len(requesters) < len(times) && times[len(requesters)].Before(step.Record.At) {
				requesters = append(requesters, c.position.state.Requesters)
			}
			c.advance(step)
		}
		if len(steps) == 0 || len(requesters) == len(times) {
			break
		}
	}
	for len(requesters) < len(times) {
		requesters = append(requesters, c.position.state.Requesters)
	}
	return requesters, nil
}

// decided returns the call that a decision is about, unless the decision had no effect.
func (s Step) decided(at api.CallMoment, f agent.Decided) []api.CallMoment {
	for _, c := range s.Before.Batch {
		if c.State != agent.CallUndecided || c.ApprovalID() != f.Call {
			continue
		}
		i := slices.IndexFunc(s.After.Batch, func(now agent.BatchCall) bool { return now.ID == c.ID })
		if i >= 0 && s.After.Batch[i].Decisions == c.Decisions {
			return nil
		}
		at.Kind, at.ToolCall, at.Tool = api.CallDecided, c.ID, c.Tool
		if i >= 0 && len(s.After.Batch[i].Edits) > len(c.Edits) {
			at.Arguments = f.Arguments
		}
		at.Decision, at.User, at.Allowance, at.Comment = "Deny", f.User, f.Allowance, f.Comment
		if f.Approve {
			at.Decision = "Approve"
		}
		return []api.CallMoment{at}
	}
	return nil
}

func contentLabels(labels agent.Labels) []api.ContentLabel {
	var result []api.ContentLabel
	for _, l := range labels {
		result = append(result, api.ContentLabel{Name: l.Name, Source: l.Source, ToolCall: l.Call})
	}
	return result
}

func verdicts(recorded []agent.Verdict) []api.PolicyVerdict {
	var result []api.PolicyVerdict
	for _, v := range recorded {
		result = append(result, api.PolicyVerdict{
			Policy: v.Policy, UID: v.UID, Generation: v.Generation, Rule: v.Rule, Action: string(v.Action),
			Audit: v.Audit, Failed: v.Failed, Message: v.Message,
		})
	}
	return result
}
