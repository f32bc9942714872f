// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/history/historytest"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
)

// momentsAfter writes facts and returns the moments of the calls as lines. Pages of one moment have the same.
func momentsAfter(t *testing.T, pen *historytest.Writer, facts ...func() agent.Fact) []string {
	t.Helper()
	l := ledgertest.OpenSQLite(t)
	for _, fact := range facts {
		if err := pen.Write(t.Context(), l, fact()); err != nil {
			t.Fatal(err)
		}
	}
	reader := transcript.NewReader(l)
	all, next, err := reader.Calls(t.Context(), pen.Record.UID, 0, time.Time{}, 1000)
	if err != nil || next != 0 {
		t.Fatalf("next %d, %v", next, err)
	}
	var paged []api.CallMoment
	for since := int64(0); ; since = next {
		var page []api.CallMoment
		if page, next, err = reader.Calls(t.Context(), pen.Record.UID, since, time.Time{}, 1); err != nil {
			t.Fatal(err)
		}
		if paged = append(paged, page...); next == 0 {
			break
		}
	}
	if diff := cmp.Diff(all, paged); diff != "" {
		t.Errorf("in pages (-whole +pages):\n%s", diff)
	}
	if len(all) > 0 {
		last := all[len(all)-1]
		newest, _, err := reader.Calls(t.Context(), pen.Record.UID, 0, last.Time.Time, 1000)
		if err != nil || len(newest) == 0 || newest[0].Time.Before(&last.Time) {
			t.Errorf("from the last moment on there are %v, %v", newest, err)
		}
	}
	var lines []string
	for _, m := range all {
		lines = append(lines, formatMoment(m))
	}
	return lines
}

func formatMoment(m api.CallMoment) string {
	parts := []string{fmt.Sprint(m.Seq), string(m.Kind), m.ToolCall, m.Tool, m.Arguments}
	for _, l := range m.ContentLabels {
		parts = append(parts, l.Name+"<"+l.Source+":"+l.ToolCall)
	}
	for flag, set := range map[string]bool{"readOnly": m.ReadOnly && !m.Control, "judged": m.Judged} {
		if set {
			parts = append(parts, flag)
		}
	}
	if m.TargetRole != "" {
		parts = append(parts, "to "+m.TargetRole)
	}
	if m.Decision != "" {
		parts = append(parts, m.Decision+" "+m.User)
	}
	for _, v := range m.Verdicts {
		parts = append(parts, fmt.Sprintf("%s/%s/%d:%s", v.Policy, v.Rule, v.Generation, v.Action))
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// Without policies, a call has the labels of the moments at which policies would have judged it.
func TestMomentsWithoutPolicies(t *testing.T) {
	pen := historytest.SubAgent(historytest.Chat("team-a", "release", "chat"), "release-1", "uid")
	got := momentsAfter(t, pen,
		func() agent.Fact { return pen.Researcher(agent.Limits{}) },
		func() agent.Fact {
			return pen.Replied("", agent.ToolCall{ID: "r1", Tool: "read", Arguments: `{"path":"a"}`}, agent.ToolCall{ID: "w1", Tool: "write", Arguments: `{}`})
		},
		constantFact(agent.Woke{}),
		constantFact(agent.Decided{Call: "w1", Approve: true, User: "alice"}),
		constantFact(agent.ToolFinished{Call: "r1", Outcome: agent.ToolSucceeded, Text: "x"}),
		constantFact(agent.ToolFinished{Call: "w1", Outcome: agent.ToolSucceeded, Text: "x"}),
		func() agent.Fact {
			return pen.Replied("", agent.ToolCall{ID: "q1", Tool: "ask_user", Arguments: `{"question":"Which?"}`})
		},
		constantFact(agent.Answered{Call: "q1", Text: "This one."}),
		func() agent.Fact { return pen.Replied("Done.") },
	)
	expect(t, got,
		`2 Planned r1 read {"path":"a"} readOnly`, "2 Planned w1 write {}", "4 Decided w1 write Approve alice",
		"5 Starts w1 write {} untrusted<read:r1", `7 Planned q1 ask_user {"question":"Which?"} untrusted<read:r1`,
	)
}

// With policies, the moments are those of their verdicts.
func TestMomentsWithPolicies(t *testing.T) {
	pen := historytest.SubAgent(historytest.Chat("team-a", "release", "chat"), "release-1", "uid")
	started := pen.Researcher(agent.Limits{})
	started.Policed = true
	verdict := func(call string, action agent.PolicyAction, rule string) func() agent.Fact {
		v := agent.Verdict{Policy: "team-a/writes", UID: "u", Generation: 3, Digest: "d", Rule: rule, Action: action}
		return constantFact(agent.Judged{Policed: true, Calls: []agent.JudgedCall{{Call: call, Verdicts: []agent.Verdict{v}}}})
	}
	got := momentsAfter(t, pen,
		constantFact(started),
		func() agent.Fact { return pen.Replied("", agent.ToolCall{ID: "w1", Tool: "write", Arguments: `{}`}) },
		verdict("w1", agent.PolicyRequireApproval, "people"),
		constantFact(agent.Decided{Call: "w1", Approve: true, User: "alice"}),
		verdict("w1", agent.PolicyDeny, "never"),
	)
	expect(t, got,
		"3 Planned w1 write {} judged team-a/writes/people/3:RequireApproval", "4 Decided w1 write Approve alice",
		"5 Starts w1 write {} judged team-a/writes/never/3:Deny",
	)
}

// A delegation to several roles has a moment for each of them, as policies judge it.
func TestMomentsOfDelegations(t *testing.T) {
	pen := historytest.Chat("team-a", "release", "uid")
	got := momentsAfter(t, pen,
		func() agent.Fact { return pen.Orchestrator() },
		constantFact(agent.MessageArrived{Message: "msg-1", Text: "How many leap days?"}),
		func() agent.Fact {
			return pen.Replied("", agent.ToolCall{ID: "c1", Tool: "delegate_to_agent", Arguments: `{"role":"researcher","task":"Count","x":1}`},
				agent.ToolCall{ID: "c2", Tool: "write", Arguments: `{}`})
		},
	)
	expect(t, got, `3 Planned c1 delegate_to_agent {"role":"researcher","task":"Count"} to researcher`)
}

// The usage of a call contains the writes of the calls before it that may start with it, and an input by reference is that of the agent
// that named it.
func TestMomentsHaveTheirUsage(t *testing.T) {
	pen := historytest.SubAgent(historytest.Chat("team-a", "release", "chat"), "release-1", "uid")
	pen.Usage = &budget.Amount{Tokens: 5, CostMicros: 6, Tasks: 7, Writes: 8}
	started := pen.Researcher(agent.Limits{})
	started.Config.Role.Approval = agent.ApproveNever
	started.Config.Delegates = []agent.Delegate{{Name: "judge", Isolated: true}}
	l := ledgertest.OpenSQLite(t)
	write := agent.ToolCall{Tool: "write", Arguments: `{}`}
	first, second, named := write, write, agent.ToolCall{ID: "d", Tool: agent.ToolDelegate, Arguments: `{"role":"judge","task":"Judge.","inputs":[{"file":"a"}]}`}
	first.ID, second.ID = "w1", "w2"
	if err := pen.Write(t.Context(), l, started); err != nil {
		t.Fatal(err)
	}
	if err := pen.Write(t.Context(), l, pen.Replied("", first, second, named)); err != nil {
		t.Fatal(err)
	}
	moments, _, err := transcript.NewReader(l).Calls(t.Context(), "uid", 0, time.Time{}, 100)
	if err != nil || len(moments) < 4 {
		t.Fatalf("%d moments, %v", len(moments), err)
	}
	var got []string
	for _, m := range moments[:4] {
		got = append(got, fmt.Sprint(m.Tool, " ", *m.Usage, " ", m.JudgedAs != nil))
	}
	want := []string{"write {5 6 7 8} false", "write {5 6 7 9} false", "delegate_to_agent {5 6 7 10} false", "read {5 6 7 10} false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	child := historytest.SubAgent(historytest.Chat("team-a", "release", "chat"), "release-1-1", "child")
	started.Config.Isolated, started.Config.OutputSchema = true, []byte(`{"type":"object","additionalProperties":false,"properties":{"ok":{"type":"boolean"}}}`)
	started.Config.Task.Inputs = &agent.Inputs{Role: "clerk", Depth: 0, Calls: []agent.InputCall{{Tool: "read", Arguments: "{}"}}}
	if err := child.Write(t.Context(), l, started); err != nil {
		t.Fatal(err)
	}
	moments, _, err = transcript.NewReader(l).Calls(t.Context(), "child", 0, time.Time{}, 100)
	if err != nil || len(moments) == 0 || moments[0].JudgedAs == nil || *moments[0].JudgedAs != (api.JudgedAs{Role: "clerk"}) {
		t.Errorf("the input is %+v, %v", moments, err)
	}
}

func TestRequestersOfATime(t *testing.T) {
	chat := historytest.Chat("team-a", "release", "chat")
	l := ledgertest.OpenSQLite(t)
	for _, fact := range []agent.Fact{
		chat.Orchestrator(), agent.MessageArrived{Message: "m1", Text: "Begin.", User: "alice"}, agent.MessageArrived{Message: "m2", Text: "Go on.", User: "bob"},
	} {
		if err := chat.Write(t.Context(), l, fact); err != nil {
			t.Fatal(err)
		}
	}
	at := func(seconds int) time.Time { return historytest.Start.Add(time.Duration(seconds) * time.Second) }
	got, err := transcript.NewReader(l).Requesters(t.Context(), "chat", []time.Time{at(1), at(2), at(2), at(9)})
	if err != nil {
		t.Fatal(err)
	}
	alice, both := agent.Requesters{Users: []string{"alice"}}, agent.Requesters{Users: []string{"alice", "bob"}}
	if diff := cmp.Diff([]agent.Requesters{{}, alice, alice, both}, got); diff != "" {
		t.Error(diff)
	}
}
