// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var drawnActions = []PolicyAction{PolicyAllow, PolicyAllow, PolicyRequireApproval, PolicyRequireApproval, PolicyDeny}

// drawJudged draws what policies say: they appear, change, break and are deleted between two facts.
func drawJudged(t *rapid.T, calls []PlannedCall) Judged {
	fact := Judged{Policed: rapid.IntRange(0, 9).Draw(t, "policies") > 0}
	if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
		fact.Waits = "a policy does not compile"
		return fact
	}
	for _, call := range calls {
		if rapid.IntRange(0, 9).Draw(t, "left out") == 0 {
			continue
		}
		judged := JudgedCall{Call: call.Call, Writes: int64(rapid.IntRange(0, 2).Draw(t, "writes"))}
		for range rapid.IntRange(0, 4).Draw(t, "verdicts") {
			judged.Verdicts = append(judged.Verdicts, Verdict{
				Policy: "team/p", UID: "1", Digest: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "digest"),
				Rule:           rapid.SampledFrom([]string{"r", "s"}).Draw(t, "rule"),
				Action:         rapid.SampledFrom(drawnActions).Draw(t, "action"),
				Audit:          rapid.IntRange(0, 5).Draw(t, "audit") == 0,
				DenyRequesters: rapid.IntRange(0, 5).Draw(t, "deny requesters") == 0,
			})
		}
		fact.Calls = append(fact.Calls, judged)
	}
	return fact
}

// performed returns the keys of what the calls of an agent do: tools that run, questions, children, posts and replies
// of its tools.
func performed(s State) map[string]string {
	keys := map[string]string{}
	for _, e := range Outstanding(s) {
		switch e := e.(type) {
		case RunTool:
			keys[e.Key()] = e.Call
		case AskPerson:
			if e.Kind == AskQuestion && !e.OfTool {
				keys[e.Key()] = e.Call
			}
		case StartChild:
			keys[e.Key()] = e.Child.Group
		}
	}
	return keys
}

// verdictOn returns what a fact says about a call: the strictest effective action and the rules that require an
// approval.
func verdictOn(fact Fact, call string) (action PolicyAction, rules []Verdict, found bool) {
	f, ok := fact.(Judged)
	if !ok {
		return "", nil, false
	}
	i := slices.IndexFunc(f.Calls, func(c JudgedCall) bool { return c.Call == call })
	if i < 0 {
		return "", nil, false
	}
	action = PolicyAllow
	for _, v := range f.Calls[i].Verdicts {
		switch {
		case v.Audit:
		case v.Action == PolicyDeny:
			return PolicyDeny, nil, true
		case v.Action == PolicyRequireApproval:
			action, rules = PolicyRequireApproval, append(rules, v)
		}
	}
	return action, rules, true
}

func TestInvariant14NoCallWithoutVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		approved := map[string][]Verdict{} // the rules that were shown for the call when a person approved it
		drawRun(t, func(s step) {
			if f, ok := s.event.Fact.(Decided); ok && f.Approve && s.after.Phase == PhaseActing { // otherwise a limit was reached first
				for _, ask := range PendingAsks(s.before) {
					i := s.before.findUndecided(f.Call)
					if i >= 0 && !s.expires(ask) && ask.Call == f.Call && s.after.findUndecided(f.Call) < 0 {
						if denyRequesters(ask.Policy.rules()) && !f.Requesters.MayDecide(f.User) {
							t.Fatalf("%s approved %s, although a rule denies requesters", f.User, f.Call)
						}
						id := s.before.Batch[i].ID
						if f.edits(s.before.Batch[i]) {
							approved[id] = nil // those approvals were of other arguments
						}
						approved[id] = append(approved[id], ask.Policy.Reasons().Rules...)
					}
				}
			}
			for _, c := range s.after.Batch {
				if s.after.readsInputs() && approved[c.ID] == nil { // a person approved the delegation
					approved[c.ID] = slices.Clone(s.after.Config.Task.Inputs.Approved)
				}
			}
			if !s.after.Policed {
				return
			}
			before := performed(s.before)
			for key, call := range performed(s.after) {
				// A tool's task judges its call, no model asked for a review, and a rename is the same child.
				exempt := isRename(s) || hasStyle(s.after, call, StyleTool) || hasStyle(s.after, call, StyleReview)
				if _, was := before[key]; was || exempt {
					continue
				}
				action, rules, found := verdictOn(s.event.Fact, call)
				switch {
				case !found:
					t.Fatalf("%s started %s without a verdict of that moment", s.event, key)
				case action == PolicyDeny:
					t.Fatalf("%s started although a policy denies it", key)
				}
				for _, rule := range rules {
					if !slices.ContainsFunc(approved[call], rule.sameRule) {
						t.Fatalf("%s started, and no one who approved it was shown %s", key, rule)
					}
				}
			}
			for _, c := range s.after.Batch {
				action, _, _ := verdictOn(s.event.Fact, c.ID)
				if action == PolicyDeny && s.before.needsVerdictFor(c.ID) && c.State != CallDone {
					t.Fatalf("%s is %s although a policy denies it", c.ID, c.State)
				}
			}
		})
	})
}

func (s State) needsVerdictFor(call string) bool {
	return slices.ContainsFunc(s.Batch, func(c BatchCall) bool { return c.ID == call && s.needsVerdict(c) })
}

func isRename(s step) bool {
	_, ok := s.event.Fact.(NameTaken)
	return ok
}

func hasStyle(s State, group string, style GroupStyle) bool {
	i := s.Children.group(group)
	return i >= 0 && s.Children.Groups[i].Style == style
}

// A deleted policy does not release the calls that it sent to a person.
func TestInvariant14AsksStayOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawRun(t, func(s step) {
			f, ok := s.event.Fact.(Judged)
			if !ok {
				return
			}
			for _, ask := range PendingAsks(s.before) {
				if ask.Kind != AskApproval || s.expires(ask) {
					continue
				}
				i := s.after.findUndecided(ask.Call)
				if i < 0 && s.after.Phase == PhaseActing {
					t.Fatalf("%v released the ask %s", f, ask.Call)
				}
			}
		})
	})
}

// Without policies nothing waits, whatever verdicts arrive.
func TestUnpolicedCallsDoNotWait(t *testing.T) {
	tools := []Tool{{Name: "read", ReadOnly: true}}
	config := Config{Kind: ToolRun, Name: "run", Tools: tools, ToolCall: &ToolRunCall{Tool: "read"}}
	s, _ := Step(State{}, Event{At: 1, Fact: Started{Config: config}})
	if got := fmt.Sprint(Outstanding(s)); got != "[run read {} [run]]" {
		t.Errorf("outstanding is %s, want the tool", got)
	}
	if calls := Unjudged(s); calls != nil {
		t.Errorf("%v wait for a verdict", calls)
	}
}

func allowAll(calls []PlannedCall) Judged {
	fact := Judged{Policed: true}
	for _, call := range calls {
		fact.Calls = append(fact.Calls, JudgedCall{Call: call.Call})
	}
	return fact
}

var askingPolicy = Verdict{Policy: "team/p", UID: "1", Rule: "r", Action: PolicyRequireApproval}

// However policies begin to apply, an approval that was asked for before does not count for their rules.
func TestApprovalBeforePolicies(t *testing.T) {
	for _, begins := range []Fact{Judged{Policed: true}, Restarted{Policed: true}, Resumed{Policed: true}} {
		config := Config{Kind: ToolRun, Name: "run", Tools: []Tool{{Name: "bash"}}, ToolCall: &ToolRunCall{Tool: "bash"}}
		s, _ := Step(State{}, Event{At: 1, Fact: Started{Config: config}})
		s, _ = Step(s, Event{At: 2, Fact: begins})
		s, _ = Step(s, Event{At: 3, Fact: Decided{Call: "run", Approve: true}})
		s, _ = Step(s, Event{At: 4, Fact: Judged{Policed: true, Calls: []JudgedCall{{Call: "run", Verdicts: []Verdict{askingPolicy}}}}})
		asks := PendingAsks(s)
		if len(asks) != 1 || asks[0].Call == "run" || asks[0].Policy == nil {
			t.Errorf("after %s the asks are %+v, want a new one that shows the rule", begins, asks)
		}
	}
}

// A delegation that waits behind a tool when policies begin to apply does not start without a verdict.
func TestQueuedDelegationBeforePolicies(t *testing.T) {
	config := Config{Kind: Orchestrator, Name: "chat", MaxDepth: 2, Role: Role{Allow: []string{"*"}}, Tools: []Tool{{Name: "bash"}}, Delegates: []Delegate{{Name: "helper"}}}
	s, _ := Step(State{}, Event{At: 1, Fact: Started{Config: config}})
	s, _ = Step(s, Event{At: 2, Fact: MessageArrived{Message: "m", Text: "Begin.", User: "alice"}})
	s, _ = Step(s, Event{At: 3, Fact: ModelReplied{Call: s.ModelCall.ID, Calls: []ToolCall{
		{ID: "c1", Tool: "bash", Arguments: "{}"}, {ID: "c2", Tool: ToolDelegate, Arguments: `{"role":"helper","task":"help"}`},
	}}})
	if len(s.Children.Live) != 2 || !s.Children.Live[1].Queued {
		t.Fatalf("the children are %+v, want a delegation that waits", s.Children.Live)
	}
	name := s.Children.Live[0].Name
	s, _ = Step(s, Event{At: 4, Fact: Judged{Policed: true}})
	s, effects := Step(s, Event{At: 5, Fact: ChildFinished{Child: name, Outcome: Outcome{Result: &Result{Text: "ok"}}}})
	for _, e := range effects {
		if start, ok := e.(StartChild); ok {
			t.Errorf("%s started without a verdict", start.Child.Name)
		}
	}
	if s.Children.Pending() != 0 {
		t.Errorf("%d children are pending", s.Children.Pending())
	}
}

// What a restart interrupts begins anew under another key; what is in flight continues without a verdict.
func TestInterruptedCallsBeginAnew(t *testing.T) {
	config := Config{Kind: ToolRun, Name: "run", Tools: []Tool{{Name: "read", ReadOnly: true}}, ToolCall: &ToolRunCall{Tool: "read"}}
	s, _ := Step(State{}, Event{At: 1, Fact: Started{Config: config, Policed: true}})
	s, _ = Step(s, Event{At: 2, Fact: allowAll(Unjudged(s))})
	key := Outstanding(s)[0].Key()
	kept, _ := Step(s, Event{At: 3, Fact: Restarted{Policed: true, OpenCalls: OpenCalls{InFlight: []string{"run"}}}})
	if got := Outstanding(kept); len(got) != 1 || got[0].Key() != key || Unjudged(kept) != nil {
		t.Errorf("outstanding is %v, want the call that is in flight", got)
	}
	s, _ = Step(s, Event{At: 3, Fact: Judged{Policed: true, Waits: "X"}})
	s, _ = Step(s, Event{At: 4, Fact: Restarted{Policed: true, OpenCalls: OpenCalls{Interrupted: []string{"run"}}}})
	s, _ = Step(s, Event{At: 5, Fact: Judged{Policed: true, Waits: "X"}})
	s, _ = Step(s, Event{At: 6, Fact: allowAll(Unjudged(s))})
	if got := Outstanding(s); len(got) != 1 || got[0].Key() == key {
		t.Errorf("outstanding is %v, want the call under a new key", got)
	}
	asked, _ := Step(kept, Event{At: 7, Fact: ToolAsked{Call: "run", Question: "Which?", Number: 1, Open: true}})
	asked, _ = Step(asked, Event{At: 8, Fact: Restarted{Policed: true, OpenCalls: OpenCalls{Interrupted: []string{"run"}}}})
	if !asked.Suspended() {
		t.Error("the time in which the call waits for a person counts")
	}
}

// An approval counts for the rules that were shown. Two are: the call waits again for the third.
func TestApprovalCountsForShownRules(t *testing.T) {
	config := Config{Kind: ToolRun, Name: "run", Tools: []Tool{{Name: "bash"}}, ToolCall: &ToolRunCall{Tool: "bash"}}
	s, _ := Step(State{}, Event{At: 1, Fact: Started{Config: config, Policed: true}})
	var verdicts []Verdict
	for _, rule := range []string{"a", "b", "c", "a"} {
		verdicts = append(verdicts, Verdict{Policy: "team/p", UID: "1", Rule: rule, Message: "Line one.\nArguments:\n{}", Action: PolicyRequireApproval,
			DenyRequesters: rule == "a", ExactAllowance: true})
	}
	judge := Judged{Policed: true, Calls: []JudgedCall{{Call: "run", Verdicts: verdicts}}}
	s, _ = Step(s, Event{At: 2, Fact: judge})
	for i, want := range [][]string{
		{"Required by policy team/p, rule a: Line one. Arguments: {}", "Required by policy team/p, rule b: Line one. Arguments: {}", "and 1 more, about which you are asked next"},
		{"Required by policy team/p, rule c: Line one. Arguments: {}"},
	} {
		asks := PendingAsks(s)
		if len(asks) != 1 {
			t.Fatalf("%d asks, want one for %q", len(asks), want)
		}
		if diff := cmp.Diff(want, asks[0].Policy.Reasons().Lines()); diff != "" {
			t.Error(diff)
		}
		if !asks[0].DenyRequesters || asks[0].Policy.AcceptsAllowance() != (i == 1) {
			t.Errorf("ask %d is %+v", i, asks[0])
		}
		s, _ = Step(s, Event{At: 3, Fact: Decided{Call: asks[0].Call, Approve: true, User: "bob", Requesters: Requesters{Users: []string{"alice"}}}})
		s, _ = Step(s, Event{At: 4, Fact: judge})
	}
	if _, runs := Outstanding(s)[0].(RunTool); !runs {
		t.Errorf("outstanding is %v, want the tool", Outstanding(s))
	}
}

func TestAskShowsStrictLabelsFirst(t *testing.T) {
	v := CallVerdict{Rules: []Verdict{{Policy: "team/p", Rule: "r", ExactAllowance: true}}, Sources: Labels{{Name: "a"}, {Name: "b"}, {Name: "untrusted", Source: "read", Call: "c1"}, {Name: "overflow"}}}
	want := []string{"Required by policy team/p, rule r", "The agent's context is untrusted (since call c1 of read), overflow, a, and 1 more"}
	if diff := cmp.Diff(want, v.Reasons().Lines()); diff != "" {
		t.Error(diff)
	}
	if v.AcceptsAllowance() {
		t.Error("an allowance covers a label that was not shown")
	}
}
