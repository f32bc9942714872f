// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
)

// startPolicing makes policies apply from now on, if policed is set. An open ask for approval stays open but does not
// cover their rules: the call is judged before it starts. A queued delegation ends; the model may repeat it, and the
// repetition is judged.
func (s State) startPolicing(policed bool) State {
	if s.Policed || !policed {
		return s
	}
	s.Policed = true
	for i, c := range s.Batch {
		if c.State == CallUndecided && c.Verdict == nil {
			c.Verdict = &CallVerdict{}
			s = s.withCall(i, c)
		}
	}
	for _, child := range s.Children.Live {
		if child.Queued && child.Tool == "" && child.pending() && !child.Cancel {
			outcome := Outcome{Kind: ErrorSubAgent, Error: textUnjudged}
			s = childFinished(s, ChildFinished{Child: child.Name, Outcome: outcome})
		}
	}
	return s
}

const textUnjudged = "Not started: policies apply from now on. Delegate it again if it is still needed."

// judged applies verdicts. The calls that they permit start in this step; see apply.
func judged(s State, f Judged) State {
	s = s.startPolicing(f.Policed || s.Policed)
	s.Policed, s.PolicyWait = f.Policed, f.Waits
	if s.Phase != PhaseActing {
		return s
	}
	for i, c := range s.Batch {
		if c.Unverified && !f.Policed {
			c.Unverified = false
			s = s.withCall(i, c)
		}
	}
	for _, verdict := range f.Calls {
		i := slices.IndexFunc(s.Batch, func(c BatchCall) bool { return c.ID == verdict.Call && s.needsVerdict(c) })
		if i >= 0 {
			s = s.withVerdict(i, verdict)
		}
	}
	return s
}

// withVerdict applies the strictest verdict on a call.
func (s State) withVerdict(i int, call JudgedCall) State {
	c := s.Batch[i]
	rules, denied := c.unapproved(call.Verdicts)
	if denied != nil {
		return s.withCall(i, c.refused(s.Config, *denied))
	}
	c.Verdict = &CallVerdict{Rules: rules, Labels: call.Labels, Writes: call.Writes}
	if len(rules) > 0 {
		_, _, c.Verdict.Sources = s.JudgedAs()
		if s.Config.Kind == Orchestrator {
			return s.withCall(i, c.refused(s.Config, rules[0]))
		}
		return s.askForApproval(i, c)
	}
	c.Unverified = false
	s.judgedNow = append(slices.Clip(s.judgedNow), c.ID)
	return s.withCall(i, c)
}

// unapproved returns the rules that require an approval which the call does not have, and the first verdict that denies
// it, if any.
func (c BatchCall) unapproved(verdicts []Verdict) (rules []Verdict, denied *Verdict) {
	for _, v := range verdicts {
		switch {
		case v.Audit:
		case v.Action == PolicyDeny:
			return nil, &v
		case v.Action == PolicyRequireApproval &&
			!slices.ContainsFunc(rules, v.sameRule) && !slices.ContainsFunc(c.Approved, v.sameRule):
			rules = append(rules, v)
		}
	}
	return rules, nil
}

// askForApproval makes a call wait for a person. A call that was approved without being shown one of its rules gets a
// new ask: the decision on the old one must not count for it.
func (s State) askForApproval(i int, c BatchCall) State {
	if c.Decisions > 0 {
		c.Ask, s = s.newAskID(c.ID, c.Decisions)
	}
	c.State, c.ExpireTime = CallUndecided, 0
	return s.withCall(i, c)
}

// refused ends a call that a policy denies.
func (c BatchCall) refused(config Config, v Verdict) BatchCall {
	return c.denied(config, textRefused(v))
}

// denied ends a call that a policy or a person denies. If it is in flight, it may have taken effect already.
func (c BatchCall) denied(config Config, text string) BatchCall {
	if c.inFlight() && !config.Repeatable(c.Tool) {
		return c.done(ToolUnknown, text+" "+textUnknownOutcome)
	}
	return c.done(ToolDenied, text)
}

func textRefused(v Verdict) string {
	if v.Action == PolicyRequireApproval {
		return fmt.Sprintf("Not done: only a person may do this here (%s). Report it, and let the user decide.", v)
	}
	return fmt.Sprintf("Not done: it is not allowed (%s). Do not try it again; find another way.", v)
}

// requeueRunning makes the running calls of a policed agent wait for a verdict before the driver starts them. Calls
// that are still in flight continue. Interrupted calls are repeated under a new key, because the driver closes the
// intents of calls that are not outstanding.
func requeueRunning(s State, calls OpenCalls) State {
	if !s.Policed || s.Phase != PhaseActing {
		return s
	}
	for i, c := range s.Batch {
		interrupted := slices.Contains(calls.Interrupted, c.ID) && (c.State == CallRunning || c.inFlight())
		if c.State != CallRunning && !interrupted || slices.Contains(calls.InFlight, c.ID) || !s.isJudged(c.Tool) {
			continue
		}
		if c.State == CallRunning {
			c.State = CallQueued
		}
		if interrupted {
			c.Unverified = true
			c.Repeats++
		}
		s = s.withCall(i, c)
	}
	return s
}

// ApprovalID returns the id under which the call waits for a decision.
func (c BatchCall) ApprovalID() string {
	if c.Ask != "" {
		return c.Ask
	}
	return c.ID
}

// rules returns the rules that restrict who decides: those for which the call waits, and those that were approved
// before.
func (c BatchCall) rules() []Verdict { return append(slices.Clip(c.Approved), c.Verdict.rules()...) }

// policy returns the verdict to show to the person who decides about the call, or nil if no rule requires approval.
func (c BatchCall) policy() *CallVerdict {
	if len(c.Verdict.rules()) == 0 {
		return nil
	}
	return c.Verdict
}

// DeniesRequesters reports whether the role or a rule rejects the decision of people who requested the work.
func (s State) DeniesRequesters(c BatchCall) bool {
	return s.Config.Role.DenyRequesters || denyRequesters(c.rules())
}

func denyRequesters(rules []Verdict) bool {
	return slices.ContainsFunc(rules, func(v Verdict) bool { return v.DenyRequesters })
}
