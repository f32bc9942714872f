// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// Judged is the fact that the policies of that moment have judged calls of the agent. In a state that is Policed, a
// call is performed only in the step of a Judged that contains it, so that no verdict is older than the intent of its
// call.
type Judged struct {
	// Policed reports whether policies apply to the agent at all.
	Policed bool `json:"policed,omitempty"`
	// Waits is why the calls cannot be judged now, or empty.
	Waits string       `json:"waits,omitempty"`
	Calls []JudgedCall `json:"calls,omitempty"`
}

func (Judged) fact() {}

// JudgedCall is what the policies say about one call.
type JudgedCall struct {
	Call string `json:"call"`
	// Labels are the content labels with which it was judged.
	Labels   []string  `json:"labels,omitempty"`
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Writes is how often the call may write: once if it is not read-only, and for each of its children that is not.
	Writes int64 `json:"writes,omitempty"`
}

// Denial returns the first verdict for which the call of an agent is refused. An orchestrator cannot wait for a person.
func (c JudgedCall) Denial(of Kind) (Verdict, bool) {
	for _, v := range c.Verdicts {
		if v.Action == PolicyDeny && !v.Audit {
			return v, true
		}
	}
	i := slices.IndexFunc(c.Verdicts, func(v Verdict) bool { return v.Action == PolicyRequireApproval && !v.Audit })
	if i < 0 || of != Orchestrator {
		return Verdict{}, false
	}
	return c.Verdicts[i], true
}

// Verdict is what one rule says about a call, or that a whole policy allows it.
type Verdict struct {
	// Policy is the namespace and name of the policy. UID, Generation and Digest identify its content.
	Policy     string `json:"policy"`
	UID        string `json:"uid,omitempty"`
	Generation int64  `json:"generation,omitempty"`
	Digest     string `json:"digest,omitempty"`
	// Rule is the rule that does not allow the call, and Message its text for people and models.
	Rule    string       `json:"rule,omitempty"`
	Message string       `json:"message,omitempty"`
	Action  PolicyAction `json:"action"`
	// Failed reports that the expression of the rule, or the reading of the arguments, failed.
	Failed bool `json:"failed,omitempty"`
	// Audit reports that the verdict is recorded and has no effect.
	Audit bool `json:"audit,omitempty"`
	// DenyRequesters rejects the approval of people who requested the work.
	DenyRequesters bool `json:"denyRequesters,omitempty"`
	// ExactAllowance lets an allowance approve the same call again.
	ExactAllowance bool `json:"exactAllowance,omitempty"`
}

// PolicyAction is what a verdict demands.
type PolicyAction string

// The actions of verdicts, from the mildest to the strictest.
const (
	PolicyAllow           PolicyAction = "Allow"
	PolicyRequireApproval PolicyAction = "RequireApproval"
	PolicyDeny            PolicyAction = "Deny"
)

// String names the rule and its message.
func (v Verdict) String() string {
	text := "policy " + v.Policy
	if v.Rule != "" {
		text += ", rule " + v.Rule
	}
	if v.Message != "" {
		text += ": " + v.Message
	}
	return text
}

// sameRule reports whether two verdicts are about the same rule with the same content.
func (v Verdict) sameRule(other Verdict) bool {
	return v.UID == other.UID && v.Digest == other.Digest && v.Rule == other.Rule
}

// CallVerdict is the newest judgement of a call that it survived.
type CallVerdict struct {
	// Rules are those that require an approval which the call does not have.
	Rules  []Verdict `json:"rules,omitempty"`
	Labels []string  `json:"labels,omitempty"`
	// Sources are the labels with their first sources, for the person who decides.
	Sources Labels `json:"sources,omitempty"`
	// Writes is how often the call may write.
	Writes int64 `json:"writes,omitempty"`
}

// The bounds of what an ask shows. They are those of a status.
const (
	maxShownRules  = 2
	maxShownLabels = 3
)

// Reasons are why policies require an approval, as an ask shows them. The approval counts for these rules only.
type Reasons struct {
	Rules  []Verdict
	Labels Labels
	// MoreRules and MoreLabels count what is not shown.
	MoreRules, MoreLabels int
}

// Reasons returns what the person who decides is shown. LabelUntrusted and LabelOverflow come first.
func (v *CallVerdict) Reasons() Reasons {
	if len(v.rules()) == 0 {
		return Reasons{}
	}
	labels := slices.Clone(v.Sources)
	slices.SortStableFunc(labels, func(a, b Label) int { return cmp.Compare(b.severity(), a.severity()) })
	rules, shown := min(len(v.Rules), maxShownRules), min(len(labels), maxShownLabels)
	return Reasons{Rules: v.Rules[:rules], Labels: labels[:shown], MoreRules: len(v.Rules) - rules, MoreLabels: len(labels) - shown}
}

// Lines describe the reasons to the person who decides. None contains a line break.
func (r Reasons) Lines() []string {
	var lines []string
	for _, rule := range r.Rules {
		lines = append(lines, shorten.Line("Required by "+rule.String()))
	}
	if r.MoreRules > 0 {
		lines = append(lines, fmt.Sprintf("and %d more, about which you are asked next", r.MoreRules))
	}
	if len(r.Labels) == 0 {
		return lines
	}
	var labels []string
	for _, label := range r.Labels {
		labels = append(labels, label.String())
	}
	if r.MoreLabels > 0 {
		labels = append(labels, fmt.Sprintf("and %d more", r.MoreLabels))
	}
	return append(lines, shorten.Line("The agent's context is "+strings.Join(labels, ", ")))
}

// AcceptsAllowance reports whether an allowance may approve the call again: every rule must accept that, and the person
// must be shown all rules and labels.
func (v *CallVerdict) AcceptsAllowance() bool {
	shown := v.Reasons()
	return shown.MoreRules == 0 && shown.MoreLabels == 0 && !slices.ContainsFunc(shown.Rules, func(v Verdict) bool { return !v.ExactAllowance })
}

// rules returns the rules; none for nil.
func (v *CallVerdict) rules() []Verdict {
	if v == nil {
		return nil
	}
	return v.Rules
}

// PlannedCall is a call as policies judge it. A call that starts several children is judged once for each of them.
type PlannedCall struct {
	Call string
	Tool string
	// Arguments are the bytes that the tool gets; those of a delegation are the part that is about the child.
	Arguments json.RawMessage
	ReadOnly  bool
	// TargetRole is the role of the child that the call starts, if any.
	TargetRole string
	// Control reports that the call is one of the agent's own tools, not one of a tool server.
	Control bool
	// Counted is how many writes of the call are part of the usage already.
	Counted int64
	// call is the call of the batch.
	call BatchCall
}

// Starts reports whether the call needs no person before it starts, if these are the verdicts on it.
func (p PlannedCall) Starts(verdicts []Verdict) bool {
	rules, denied := p.call.unapproved(verdicts)
	return p.call.State == CallQueued && len(rules) == 0 && denied == nil
}

// Unjudged returns the calls that wait for a verdict: those that were just planned, and those that could start now.
func Unjudged(s State) []PlannedCall {
	if !s.Policed || s.Phase != PhaseActing {
		return nil
	}
	var startable []int
	ordered := false
	var calls []PlannedCall
	for i, c := range s.Batch {
		if !s.needsVerdict(c) {
			continue
		}
		if c.Verdict != nil {
			if !ordered {
				startable, ordered = s.orderedCalls(), true
			}
			if !slices.Contains(startable, i) {
				continue
			}
		}
		calls = append(calls, s.plannedCalls(c)...)
	}
	return calls
}

// JudgedMoment is a moment at which policies judge a call.
type JudgedMoment struct {
	PlannedCall
	// First reports that the call was just planned. Otherwise it is about to start, or to continue.
	First bool
}

// JudgedMoments returns the calls that policies judge in the step of an event, with the labels at that moment. Without
// policies, it returns those that they would have judged.
func JudgedMoments(before State, e Event) ([]JudgedMoment, Labels) {
	at := before
	if _, judged := e.Fact.(Judged); !judged {
		at, _ = Step(before.unrestricted(), policed(e))
	}
	var moments []JudgedMoment
	for _, call := range Unjudged(at) {
		i := at.findCall(call.Call, CallQueued, CallUndecided)
		moments = append(moments, JudgedMoment{call, i >= 0 && at.Batch[i].Verdict == nil})
	}
	return moments, at.Labels
}

// unrestricted returns the state as it would be under policies that have allowed all calls so far.
func (s State) unrestricted() State {
	s.Policed = true
	s.Batch = slices.Clone(s.Batch)
	for i, c := range s.Batch {
		if c.Verdict == nil {
			s.Batch[i].Verdict = &CallVerdict{}
		}
	}
	return s
}

// policed returns an event with which policies apply.
func policed(e Event) Event {
	switch f := e.Fact.(type) {
	case Started:
		f.Policed = true
		e.Fact = f
	case Restarted:
		f.Policed = true
		e.Fact = f
	case Resumed:
		f.Policed = true
		e.Fact = f
	}
	return e
}

// WaitsForPolicies returns why the agent's calls cannot be judged, or an empty string.
func (s State) WaitsForPolicies() string {
	running := func(c BatchCall) bool { return c.State == CallRunning }
	if s.PolicyWait == "" || slices.ContainsFunc(s.Batch, running) || len(Unjudged(s)) == 0 {
		return ""
	}
	return s.PolicyWait
}

// needsVerdict reports whether a call in its state must be judged before anything happens to it: before it starts, and
// before a person is asked about it.
func (s State) needsVerdict(c BatchCall) bool {
	if !s.Policed || !s.isJudged(c.Tool) || slices.Contains(s.judgedNow, c.ID) {
		return false
	}
	switch c.State {
	case CallQueued:
		return true
	case CallUndecided:
		return c.Verdict == nil
	}
	return false
}

// isJudged reports whether calls of a tool are judged by the agent's own policies. A plain tool of an orchestrator
// runs as a task of its own, which is judged there.
func (s State) isJudged(tool string) bool {
	switch tool {
	case ToolSubmit, ToolGiveUp, ToolTitle:
		return false
	}
	_, plain := s.plainTool(tool)
	return s.Config.Kind != Orchestrator || !plain
}

// IsPlainTool reports whether a tool is neither a control tool nor a role.
func (s State) IsPlainTool(name string) bool {
	_, plain := s.plainTool(name)
	return plain
}

// plannedCalls returns a call as policies judge it.
func (s State) plannedCalls(c BatchCall) []PlannedCall {
	planned := PlannedCall{Call: c.ID, Tool: c.Tool, Arguments: json.RawMessage(c.Arguments), Counted: c.Writes, call: c}
	if tool, plain := s.plainTool(c.Tool); plain {
		planned.ReadOnly = tool.ReadOnly
		return []PlannedCall{planned}
	}
	planned.Control, planned.ReadOnly = true, true
	if !s.Config.startsTasks(c.Tool) {
		planned.Arguments = controlArguments(c.Arguments)
		return []PlannedCall{planned}
	}
	started, _ := s.startTasks(c)
	var calls []PlannedCall
	for _, child := range started.Children.Live[min(len(s.Children.Live), len(started.Children.Live)):] {
		call := planned
		call.TargetRole, call.Arguments = child.Role, child.judgedArguments()
		calls = append(calls, call)
	}
	if calls == nil { // it starts nothing, and its answer says why
		return []PlannedCall{planned}
	}
	return calls
}

// controlArguments returns arguments with the names of the fields that control tools read: they match keys regardless of case, and an
// expression does not.
func controlArguments(raw string) json.RawMessage {
	var given map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &given) != nil {
		return json.RawMessage(raw)
	}
	named := map[string]json.RawMessage{}
	for key, value := range given {
		for _, name := range []string{"question", "sub_agent", "answer", "confidence", "task"} {
			if strings.EqualFold(key, name) {
				key = name
			}
		}
		if _, twice := named[key]; twice {
			return json.RawMessage(raw) // policies refuse it
		}
		named[key] = value
	}
	return json.RawMessage(toJSON(named))
}

// judgedArguments returns what a child gets, in the words of delegate_to_agent. It is built from the decoded call:
// keys that differ only in case would let a call say one thing to a policy and another to the child.
func (c Child) judgedArguments() json.RawMessage {
	if len(c.Arguments) > 0 {
		return c.Arguments
	}
	arguments := map[string]any{"role": c.Role, "task": c.Task}
	for name, value := range map[string]string{
		"success_criteria": c.SuccessCriteria, "context": strings.ToLower(c.Context),
		"cwd": c.WorkingDir, "sub_agent": c.ContinueFrom,
	} {
		if value != "" {
			arguments[name] = value
		}
	}
	if len(c.ContextFiles) > 0 {
		arguments["context_files"] = c.ContextFiles
	}
	return json.RawMessage(toJSON(arguments))
}

// policedIf makes policies apply. An approval that a person was asked for before is no approval of their rules: its ask stays open, and the
// call is judged before it starts. A delegation that has not started ends: the model may make it again, and then it is judged.
func (s State) policedIf(policed bool) State {
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
			s = childFinished(s, ChildFinished{Child: child.Name, Outcome: Outcome{Kind: ErrorSubAgent, Error: textUnjudged}})
		}
	}
	return s
}

const textUnjudged = "Not started: policies apply from now on. Delegate it again if it is still needed."

// judged applies verdicts. The calls that they permit start in this step; see apply.
func judged(s State, f Judged) State {
	s = s.policedIf(f.Policed || s.Policed)
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
func (s State) withVerdict(i int, judged JudgedCall) State {
	c := s.Batch[i]
	rules, denied := c.unapproved(judged.Verdicts)
	if denied != nil {
		return s.withCall(i, c.refused(s.Config, *denied))
	}
	c.Verdict = &CallVerdict{Rules: rules, Labels: judged.Labels, Writes: judged.Writes}
	if len(rules) > 0 {
		c.Verdict.Sources = s.Labels
		if s.Config.Kind == Orchestrator {
			return s.withCall(i, c.refused(s.Config, rules[0]))
		}
		return s.askForApproval(i, c)
	}
	c.Unverified = false
	s.judgedNow = append(slices.Clip(s.judgedNow), c.ID)
	return s.withCall(i, c)
}

// unapproved returns the rules that require an approval which the call does not have, and the first verdict that denies it, if any.
func (c BatchCall) unapproved(verdicts []Verdict) (rules []Verdict, denied *Verdict) {
	for _, v := range verdicts {
		switch {
		case v.Audit:
		case v.Action == PolicyDeny:
			return nil, &v
		case v.Action == PolicyRequireApproval && !slices.ContainsFunc(rules, v.sameRule) && !slices.ContainsFunc(c.Approved, v.sameRule):
			rules = append(rules, v)
		}
	}
	return rules, nil
}

// askForApproval makes a call wait for a person. A call that was approved without being shown one of its rules gets a new
// ask: the decision on the old one must not count for it.
func (s State) askForApproval(i int, c BatchCall) State {
	if c.Decisions > 0 {
		c.Ask, s = s.newAskID(c.ID, c.Decisions)
	}
	c.State, c.ExpireTime = CallUndecided, 0
	return s.withCall(i, c)
}

// refused ends a call that a policy denies. One that is in flight may have had its effect; so may one that a person denies.
func (c BatchCall) refused(config Config, v Verdict) BatchCall {
	return c.denied(config, textRefused(v))
}

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

// requeueRunning makes the running calls of a policed agent wait for a verdict, because they may run only now. Those that are still in
// flight continue. Those that were interrupted begin anew under a new key: the driver closes the intents of calls that are not outstanding.
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

// rules returns the rules that are about who may decide: those for which a call waits, and those that were approved before.
func (c BatchCall) rules() []Verdict { return append(slices.Clip(c.Approved), c.Verdict.rules()...) }

// policy returns what policies say to the person who decides about the call, or nil.
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
