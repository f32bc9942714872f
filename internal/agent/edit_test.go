// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Invariant 18.
func editsReachTools(t *rapid.T) func(step) {
	arguments := map[string]string{} // of each call of the batch, in the form that the tool must get
	return func(s step) {
		if f, ok := s.event.Fact.(Decided); ok && s.permitsEdit(f) {
			i := s.before.findUndecided(f.Call)
			arguments[s.before.Batch[i].ID] = f.Arguments
		}
		current := map[string]string{}
		for _, c := range s.after.Batch {
			current[c.ID] = c.Arguments
			if before, ok := arguments[c.ID]; ok {
				current[c.ID] = before
			}
			if c.State == CallDone && len(c.Edits) > 0 && !strings.Contains(c.Answer, c.Arguments) {
				t.Fatalf("the answer to %s lacks the arguments %s: %s", c.ID, c.Arguments, c.Answer)
			}
		}
		arguments = current
		for _, e := range s.effects {
			run, ok := e.(RunTool)
			if !ok {
				continue
			}
			if want := arguments[run.Call]; string(run.Arguments) != want {
				t.Fatalf("%v gets %s, want %s", run, run.Arguments, want)
			}
			if judged := s.judgedArguments(run.Call); s.after.Policed && judged != string(run.Arguments) {
				t.Fatalf("%v gets %s, and policies judged %q", run, run.Arguments, judged)
			}
		}
	}
}

// permitsEdit implements the rules of edits a second time, independently.
func (s step) permitsEdit(f Decided) bool {
	asks := PendingAsks(s.before)
	i := slices.IndexFunc(asks, func(a AskPerson) bool { return a.Call == f.Call })
	if i < 0 || s.before.Phase != PhaseActing || s.after.findUndecided(f.Call) >= 0 {
		return false
	}
	var object map[string]any
	valid := json.Valid([]byte(f.Arguments)) && json.Unmarshal([]byte(f.Arguments), &object) == nil && object != nil
	shown := f.Digest == asks[i].Digest()
	role := s.before.Config.Role
	return f.Approve && valid && shown && f.User != "" && role.EditableApprovals && !asks[i].DenyRequesters
}

// judgedArguments returns the arguments of a call that policies have judged in the step, or an empty string.
func (s step) judgedArguments(call string) string {
	if _, _, found := verdictOn(s.event.Fact, call); !found {
		return ""
	}
	for _, planned := range Unjudged(s.before) {
		if planned.Call == call {
			return string(planned.Arguments)
		}
	}
	return ""
}

// waitingRun returns a run whose call waits for a decision under a role that lets people edit it.
func waitingRun(rules ...Verdict) State {
	config := Config{Kind: ToolRun, Name: "run", Tools: []Tool{{Name: "bash"}}, Role: Role{Approval: ApproveWrites, EditableApprovals: true},
		ToolCall: &ToolRunCall{Tool: "bash", Arguments: json.RawMessage(`{"command":"make"}`)}}
	s, _ := Step(State{}, Event{At: 1, Fact: Started{Config: config, Policed: len(rules) > 0}})
	if len(rules) > 0 {
		s, _ = Step(s, Event{At: 2, Fact: judgedBy(rules...)})
	}
	return s
}

func judgedBy(rules ...Verdict) Judged {
	return Judged{Policed: true, Calls: []JudgedCall{{Call: "run", Verdicts: rules}}}
}

func edit(s State, user, arguments string) State {
	ask := PendingAsks(s)[0]
	s, _ = Step(s, Event{At: 3, Fact: Decided{Call: ask.Call, Approve: true, User: user, Digest: ask.Digest(), Arguments: arguments,
		EditedDigest: CallDigest(ask.Tool, arguments)}})
	return s
}

func TestRefusedEdits(t *testing.T) {
	const other = `{"command":"make test"}`
	for name, tc := range map[string]struct {
		change func(*State, *Decided)
		want   bool
	}{
		"an edit":                       {func(*State, *Decided) {}, true},
		"a role that is not editable":   {func(s *State, _ *Decided) { s.Config.Role.EditableApprovals = false }, false},
		"a role that denies requesters": {func(s *State, _ *Decided) { s.Config.Role.DenyRequesters = true }, false},
		"a rule that denies requesters": {func(s *State, _ *Decided) {
			s.Batch[0].Verdict = &CallVerdict{Rules: []Verdict{{DenyRequesters: true}}}
		}, false},
		"without the digest":          {func(_ *State, f *Decided) { f.Digest = "" }, false},
		"with the digest of the edit": {func(_ *State, f *Decided) { f.Digest = CallDigest("bash", other) }, false},
		"without a person":            {func(_ *State, f *Decided) { f.User = "" }, false},
		"by an allowance":             {func(_ *State, f *Decided) { f.Allowance = "a" }, false},
		"a denial":                    {func(_ *State, f *Decided) { f.Approve = false }, false},
		"an array":                    {func(_ *State, f *Decided) { f.Arguments = "[]" }, false},
		"more than the limit": {func(_ *State, f *Decided) {
			f.Arguments = `{"command":"` + strings.Repeat("x", MaxEditedArguments) + `"}`
		}, false},
		"a call that was interrupted":    {func(s *State, _ *Decided) { s.Batch[0].Repeats = 1 }, false},
		"a call whose tool has asked":    {func(s *State, _ *Decided) { s.Batch[0].Input = &ToolInput{Asked: 1} }, false},
		"no change under denyRequesters": {func(s *State, f *Decided) { s.Config.Role.DenyRequesters, f.Arguments = true, `{"command":"make"}` }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := waitingRun()
			f := Decided{Call: "run", Approve: true, User: "bob", Digest: PendingAsks(s)[0].Digest(), Arguments: other, Requesters: Requesters{Users: []string{"alice"}}}
			tc.change(&s, &f)
			f.EditedDigest = CallDigest("bash", f.Arguments)
			after, _ := Step(s, Event{At: 3, Fact: f})
			if decided := after.findUndecided("run") < 0; decided != tc.want {
				t.Errorf("decided is %t, want %t", decided, tc.want)
			}
		})
	}
}

// The editor saw one rule. The edited call needs an approval for another one, which another person gives: no one decides about their own arguments.
func TestEditedCallIsJudgedAgain(t *testing.T) {
	second := Verdict{Policy: "team/p", UID: "1", Rule: "other", Action: PolicyRequireApproval, DenyRequesters: true}
	s := edit(waitingRun(askingPolicy), "bob", `{"command":"make test"}`)
	if got := Unjudged(s); len(got) != 1 || string(got[0].Arguments) != `{"command":"make test"}` {
		t.Fatalf("policies judge %+v, want the edited call", got)
	}
	s, _ = Step(s, Event{At: 4, Fact: judgedBy(askingPolicy, second)})
	asks := PendingAsks(s)
	if len(asks) != 1 || asks[0].Arguments != `{"command":"make test"}` || len(asks[0].Policy.Rules) != 1 || asks[0].Editable {
		t.Fatalf("the asks are %+v, want one for the other rule and the edited arguments", asks)
	}
	if !slices.Contains(s.Requesters.Users, "bob") {
		t.Errorf("the requesters are %v, want the editor among them", s.Requesters)
	}
}

// An approval of the earlier arguments, for a rule that the editor was not shown, does not count for the edited ones.
func TestEditDropsEarlierApprovals(t *testing.T) {
	s := waitingRun(askingPolicy)
	s, _ = Step(s, Event{At: 3, Fact: Decided{Call: "run", Approve: true, User: "alice"}})
	second := Verdict{Policy: "team/p", UID: "1", Rule: "other", Action: PolicyRequireApproval}
	s, _ = Step(s, Event{At: 4, Fact: judgedBy(askingPolicy, second)})
	s = edit(s, "bob", `{"command":"make test"}`)
	s, _ = Step(s, Event{At: 5, Fact: judgedBy(askingPolicy, second)})
	asks := PendingAsks(s)
	if len(asks) != 1 || asks[0].Policy.Rules[0].Rule != askingPolicy.Rule {
		t.Errorf("the asks are %+v, want one for the first rule", asks)
	}
}

func TestDeniedEditNamesArguments(t *testing.T) {
	s := edit(waitingRun(askingPolicy), "bob", `{"command":"make test"}`)
	s, _ = Step(s, Event{At: 4, Fact: judgedBy(Verdict{Policy: "team/p", UID: "1", Rule: "r", Message: "Not on Fridays.", Action: PolicyDeny})})
	if text := s.Outcome.Error; !strings.Contains(text, "Not on Fridays.") || !strings.Contains(text, "make test") {
		t.Errorf("the call ended with %q, want the policy's text and the edited arguments", text)
	}
}
