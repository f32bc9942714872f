// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/history/historytest"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
)

// entriesAfter writes facts one after the other, each computed after the earlier ones were applied, and returns the entries
// as lines.
func entriesAfter(t *testing.T, pen *historytest.Writer, facts ...func() agent.Fact) []string {
	t.Helper()
	l := ledgertest.OpenSQLite(t)
	for _, fact := range facts {
		if err := pen.Write(t.Context(), l, fact()); err != nil {
			t.Fatal(err)
		}
	}
	cursor, err := transcript.NewReader(l).Open(t.Context(), pen.Record.UID, 0)
	if err != nil {
		t.Fatal(err)
	}
	entries, more, err := cursor.Read(t.Context(), 1000)
	if err != nil || more {
		t.Fatalf("read: more %v, %v", more, err)
	}
	lines := make([]string, len(entries))
	for i, e := range entries {
		lines[i] = formatEntry(e)
	}
	return lines
}

// formatEntry formats an entry as a line without its empty fields.
func formatEntry(e api.Entry) string {
	parts := []string{fmt.Sprint(e.Seq), string(e.Kind)}
	for _, part := range []struct{ name, value string }{
		{"", e.Content}, {"message", e.Message}, {"by", e.User}, {"decision", e.Decision}, {"allowance", e.Allowance}, {"child", e.Child}, {"error", e.Error}, {"limit", e.Limit},
		{"model call", strings.TrimPrefix(e.ModelCall, "uid.")},
	} {
		if part.value != "" {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %q", part.name, part.value)))
		}
	}
	for _, c := range e.ToolCalls {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("[%s %s %s %s %.30s", c.ID, c.Tool, c.Arguments, c.Phase, c.Result+c.Diff))+"]")
	}
	for _, c := range e.Children {
		parts = append(parts, fmt.Sprintf("starts %s (%s%s for %s): %s", c.Name, c.Role, c.Tool, c.ToolCall, c.Instruction))
	}
	if o := e.Outcome; o != nil {
		parts = append(parts, strings.Join(strings.Fields(fmt.Sprintf("ends %s %s %s %s", o.ErrorKind, o.Error, o.Summary, o.Result)), " "))
	}
	if e.Usage != nil {
		parts = append(parts, fmt.Sprintf("%d+%d tokens", *e.Usage.PromptTokens, *e.Usage.CompletionTokens))
	}
	return strings.Join(parts, " ")
}

func constantFact(f agent.Fact) func() agent.Fact { return func() agent.Fact { return f } }

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestEntriesOfAChat(t *testing.T) {
	pen := historytest.Chat("team-a", "release", "uid")
	got := entriesAfter(t, pen,
		func() agent.Fact { return pen.Orchestrator() },
		constantFact(agent.MessageArrived{Message: "msg-1", Text: "How many leap days?"}),
		func() agent.Fact {
			return pen.Replied("Let me see.", agent.ToolCall{ID: "c1", Tool: "delegate_to_agent", Arguments: `{"role":"researcher","task":"Count"}`})
		},
		func() agent.Fact { return pen.Replied("On it.") },
		constantFact(agent.ItemSent{ID: "post/1"}),
		constantFact(agent.Asked{Agent: "release-1", Task: "release-1", Call: "q1", Kind: agent.AskQuestion, Text: "Which decade?"}),
		constantFact(agent.MessageArrived{Message: "msg-2", Text: "This one.", Answers: "release-1", Call: "q1"}),
		func() agent.Fact { return pen.Replied("Passed on.") },
		constantFact(agent.AskResolved{Agent: "release-1", Call: "q1"}),
		constantFact(agent.Asked{Agent: "release-1", Task: "release-1", Call: "w1", Kind: agent.AskApproval, Tool: "write", Arguments: "{}"}),
		constantFact(agent.ChildFinished{Child: "release-1", Outcome: agent.Outcome{Result: &agent.Result{Text: "There are two.", Summary: "Two."}}}),
		func() agent.Fact {
			return agent.ModelFailed{Call: pen.State.ModelCall.ID, Attempt: 1, Failure: agent.FailureFinal, Message: "bad key"}
		},
		constantFact(agent.Restarted{}),
		constantFact(agent.MessageArrived{Message: "msg-3", Text: "Stop."}),
		constantFact(agent.Cancelled{Message: "msg-4", User: "alice", Reply: "I have beg"}),
	)
	expect(t, got,
		`1 Started`,
		`2 User "How many leap days?" message "msg-1"`,
		`3 Assistant "Let me see." model call "m1.1" [c1 delegate_to_agent {"role":"researcher","task":"Count"} Success Started task release-1 (resear] starts release-1 (researcher for c1): Count 100+20 tokens`,
		`4 Assistant "On it." model call "m2.1" 100+20 tokens`,
		`6 Question "Which decade?" child "release-1" [q1   WaitingForUser]`,
		`7 User "This one." message "msg-2" child "release-1"`,
		`8 Assistant "Passed on." model call "m3.1" 100+20 tokens`,
		`10 Approval child "release-1" [w1 write {} WaitingForApproval]`,
		`11 ChildResult "Two." child "release-1"`,
		`12 Error "bad key" error "Final" model call "m4.1"`,
		`13 Restarted`,
		`14 User "Stop." message "msg-3"`,
		`15 Cancelled "I have beg" message "msg-4" by "alice"`,
	)
}

func TestEntriesOfASubAgent(t *testing.T) {
	pen := historytest.SubAgent(historytest.Chat("team-a", "release", "chat"), "release-1", "uid")
	ask := agent.ToolCall{ID: "q1", Tool: "ask_user", Arguments: `{"question":"Which decade?"}`}
	got := entriesAfter(t, pen,
		func() agent.Fact { return pen.Researcher(agent.Limits{}) },
		func() agent.Fact {
			return agent.ModelFailed{Call: "m1", Attempt: 1, Failure: agent.FailureFinal, Message: ""}
		},
	)
	expect(t, got,
		`1 Started "Count the leap days"`,
		`2 Error error "Final" model call "m1.1" ends ModelError`,
	)

	pen = historytest.SubAgent(historytest.Chat("team-a", "release", "chat"), "release-1", "uid")
	got = entriesAfter(t, pen,
		func() agent.Fact { return pen.Researcher(agent.Limits{}) },
		func() agent.Fact {
			return pen.Replied("", ask, agent.ToolCall{ID: "q1", Tool: "read", Arguments: `{}`},
				agent.ToolCall{ID: "w1", Tool: "write", Arguments: `{}`}, agent.ToolCall{ID: "x1", Tool: "fly"})
		},
		constantFact(agent.ToolFinished{Call: "m1-2", Outcome: agent.ToolSucceeded, Text: "the file", Diff: "@@ -1 +1 @@"}),
		constantFact(agent.Answered{Call: "q1", Text: "This one."}),
		constantFact(agent.Decided{Call: "w1", Comment: "not now", User: "alice"}),
		func() agent.Fact { return pen.Replied("There are two.") },
	)
	expect(t, got,
		`1 Started "Count the leap days"`,
		`2 Assistant model call "m1.1" [q1 ask_user {"question":"Which decade?"} WaitingForUser] [m1-2 read {} Running] [w1 write {} WaitingForApproval] [x1 fly {} Failed There is no tool "fly" for you] 100+20 tokens`,
		`3 ToolResult "the file" [m1-2 read  Success @@ -1 +1 @@]`,
		`4 Answer "This one." [q1 ask_user  Success]`,
		`5 Decision "not now" by "alice" decision "Deny" [w1 write  Denied The user denied this call and]`,
		`6 Assistant "There are two." model call "m2.1" ends There are two. 100+20 tokens`,
	)
}

func TestEntriesOfLimitsAndCrashes(t *testing.T) {
	pen := historytest.SubAgent(historytest.Chat("team-a", "release", "chat"), "release-1", "uid")
	got := entriesAfter(t, pen,
		func() agent.Fact { return pen.Researcher(agent.Limits{MaxDuration: 3500}) },
		func() agent.Fact {
			return pen.Replied("", agent.ToolCall{ID: "r1", Tool: "read", Arguments: `{}`}, agent.ToolCall{ID: "w1", Tool: "write", Arguments: `{}`})
		},
		constantFact(agent.Decided{Call: "w1", Approve: true}),
		constantFact(agent.Restarted{Unknown: []string{"w1"}}),
		constantFact(agent.Woke{}),
		constantFact(agent.Woke{}),
		func() agent.Fact { return pen.Replied("I got this far.") },
	)
	expect(t, got,
		`1 Started "Count the leap days"`,
		`2 Assistant model call "m1.1" [r1 read {} Running] [w1 write {} WaitingForApproval] 100+20 tokens`,
		`3 Decision decision "Approve" [w1 write  Running]`,
		`4 Restarted [w1 write  Unknown The outcome of this call is un]`,
		`6 Limit "reached the time limit of 3 seconds" [r1 read  Failed Not finished: reached the time]`,
		`7 Assistant "I got this far." model call "m2.1" ends TimedOut reached the time limit of 3 seconds I got this far. 100+20 tokens`,
	)
}

func TestReasoningIsInReplyEntry(t *testing.T) {
	pen := historytest.Chat("team-a", "release", "uid")
	l := ledgertest.OpenSQLite(t)
	for _, fact := range []func() agent.Fact{
		func() agent.Fact { return pen.Orchestrator() },
		constantFact(agent.MessageArrived{Message: "msg-1", Text: "How many leap days?"}),
		func() agent.Fact {
			reply := pen.Replied("Two.")
			reply.Reasoning, reply.Usage.ReasoningTokens = "2020 and 2024.", 13
			return reply
		},
		constantFact(agent.MessageArrived{Message: "msg-2", Text: "Thanks."}),
		func() agent.Fact { return pen.Replied("You are welcome.") },
	} {
		if err := pen.Write(t.Context(), l, fact()); err != nil {
			t.Fatal(err)
		}
	}
	cursor, err := transcript.NewReader(l).Open(t.Context(), "uid", 0)
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := cursor.Read(t.Context(), 10)
	if err != nil || len(entries) != 5 {
		t.Fatalf("%d entries: %v", len(entries), err)
	}
	for i, e := range entries {
		if wants := i == 2; (e.Reasoning == "2020 and 2024.") != wants || (e.Usage != nil && e.Usage.ReasoningTokens != nil) != wants {
			t.Errorf("entry %d has the reasoning %q and the usage %+v", e.Seq, e.Reasoning, e.Usage)
		}
	}
	if n := *entries[2].Usage.ReasoningTokens; n != 13 {
		t.Errorf("%d reasoning tokens, want 13", n)
	}
}

// A call that a policy denies, or about which no one decides in time, has its result in the transcript, although no fact is about it.
func TestCallsThatNeverRunHaveResults(t *testing.T) {
	pen := historytest.SubAgent(historytest.Chat("team", "talk", "uid-chat"), "talk-1", "uid")
	started := pen.Researcher(agent.Limits{})
	started.Policed, started.Config.Role.ApprovalTimeout = true, 2000
	denied := agent.Verdict{Policy: "team/p", UID: "1", Rule: "r", Action: agent.PolicyDeny}
	got := entriesAfter(t, pen,
		constantFact(started),
		func() agent.Fact {
			return pen.Replied("", agent.ToolCall{ID: "r1", Tool: "read"}, agent.ToolCall{ID: "w1", Tool: "write"})
		},
		constantFact(agent.Judged{Policed: true, Calls: []agent.JudgedCall{{Call: "r1", Verdicts: []agent.Verdict{denied}}, {Call: "w1"}}}),
		constantFact(agent.Woke{}),
		constantFact(agent.Woke{}),
	)
	expect(t, got[2:],
		`3 ToolResult "Not done: it is not allowed (policy team/p, rule r). Do not try it again; find another way." [r1 read  Denied]`,
		`5 ToolResult "Not done: no one decided about write within 2 seconds. Do not try it again: say what is missing." [w1 write  Denied]`,
	)
}
