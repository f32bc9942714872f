// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/history/historytest"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
)

// traceAfter writes facts, one each second, and returns the trace as lines with the seconds since the first event.
func traceAfter(t *testing.T, pen *historytest.Writer, facts ...func() agent.Fact) []string {
	t.Helper()
	l := ledgertest.OpenSQLite(t)
	for _, fact := range facts {
		if err := pen.Write(t.Context(), l, fact()); err != nil {
			t.Fatal(err)
		}
	}
	reader := transcript.NewReader(l)
	segments, next, err := reader.Trace(t.Context(), pen.Record.UID, 0, 1000)
	if err != nil || next != 0 {
		t.Fatalf("trace: next %d, %v", next, err)
	}
	// A reader that gets one segment at a time, and one that continues with the newest segment, get the same.
	var paged []api.Segment
	for since := int64(0); ; {
		page, next, err := reader.Trace(t.Context(), pen.Record.UID, since, 1)
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, page...)
		if next == 0 {
			break
		}
		since = next
	}
	if diff := cmp.Diff(segments, paged); diff != "" {
		t.Errorf("in pages (-whole +pages):\n%s", diff)
	}
	last := segments[len(segments)-1]
	if again, _, err := reader.Trace(t.Context(), pen.Record.UID, last.Seq, 1000); err != nil || !cmp.Equal(again, []api.Segment{last}) {
		t.Errorf("continued with %d: %v, %v", last.Seq, again, err)
	}
	lines := make([]string, len(segments))
	for i, s := range segments {
		lines[i] = formatSegment(segments[0].StartTime.Time, s)
	}
	return lines
}

func formatSegment(begin time.Time, s api.Segment) string {
	end := "…"
	if s.EndTime != nil {
		end = fmt.Sprint(s.EndTime.Sub(begin).Seconds())
	}
	parts := []string{fmt.Sprintf("%v-%s", s.StartTime.Sub(begin).Seconds(), end), string(s.Kind), string(s.Reason), strings.TrimPrefix(s.ModelCall, "uid.")}
	for _, c := range s.ToolCalls {
		parts = append(parts, c.ID+":"+c.Tool)
	}
	return strings.Join(slices.DeleteFunc(append(parts, s.Children...), func(part string) bool { return part == "" }), " ")
}

func TestSubAgentTrace_CallsAndWaits(t *testing.T) {
	pen := historytest.SubAgent(historytest.Chat("team-a", "release", "chat"), "release-1", "uid")
	got := traceAfter(t, pen,
		func() agent.Fact { return pen.Researcher(agent.Limits{MaxRetries: 1}) },
		constantFact(agent.QuotaReached{Call: "m1", Attempt: 1, QuotaWait: agent.QuotaWait{Reason: "QuotaReached"}}),
		constantFact(agent.QuotaGranted{Call: "m1", Attempt: 1}),
		func() agent.Fact {
			return agent.ModelFailed{Call: "m1", Attempt: 1, Failure: agent.FailureRetry, RetryTime: pen.State.Clock.Now.Add(1500)}
		},
		constantFact(agent.Woke{}),
		func() agent.Fact {
			return pen.Replied("", agent.ToolCall{ID: "r1", Tool: "read", Arguments: `{}`}, agent.ToolCall{ID: "w1", Tool: "write", Arguments: `{}`})
		},
		constantFact(agent.ToolFinished{Call: "r1", Outcome: agent.ToolSucceeded}),
		constantFact(agent.Woke{}),
		constantFact(agent.Decided{Call: "w1", Approve: true, User: "alice"}),
		constantFact(agent.Resumed{}),
		constantFact(agent.ToolFinished{Call: "w1", Outcome: agent.ToolSucceeded}),
		func() agent.Fact {
			return pen.Replied("", agent.ToolCall{ID: "q1", Tool: "ask_user", Arguments: `{"question":"Which?"}`})
		},
		constantFact(agent.Answered{Call: "q1", Text: "This one."}),
		constantFact(agent.Restarted{}),
		func() agent.Fact { return pen.Replied("There are two.") },
		constantFact(agent.Woke{}),
	)
	expect(t, got,
		"0-1 Model m1.1", "1-2 Queue Quota m1.1", "2-3 Model m1.1", "3-4 Queue Retry m1.1", "4-5 Model m1.2",
		"5-6 Tool m1.2 r1:read", "6-8 User Approval m1.2 w1:write", "8-9 Queue Slot m1.2 w1:write", "9-10 Tool m1.2 w1:write",
		"10-11 Model m2.1", "11-12 User Question m2.1 q1:ask_user", "12-13 Queue Restart m3.1", "13-14 Model m3.1",
	)
}

func TestChatTrace_TurnsAndDelegations(t *testing.T) {
	pen := historytest.Chat("team-a", "release", "uid")
	got := traceAfter(t, pen,
		func() agent.Fact { return pen.Orchestrator() },
		constantFact(agent.MessageArrived{Message: "msg-1", Text: "How many leap days?"}),
		func() agent.Fact {
			return pen.Replied("Let me see.", agent.ToolCall{ID: "c1", Tool: "delegate_to_agent", Arguments: `{"role":"researcher","task":"Count"}`})
		},
		func() agent.Fact { return pen.Replied("On it.") },
		constantFact(agent.ItemSent{ID: "post/1"}),
		constantFact(agent.Asked{Agent: "release-1", Task: "release-1", Call: "w1", Kind: agent.AskApproval, Tool: "write", Arguments: "{}"}),
		constantFact(agent.ChildFinished{Child: "release-1", Outcome: agent.Outcome{Result: &agent.Result{Text: "There are two.", Summary: "Two."}}}),
		func() agent.Fact { return pen.Replied("There are two.") },
		constantFact(agent.ItemSent{ID: "post/2"}),
	)
	expect(t, got, "0-1 Idle", "1-2 Model m1.1", "2-3 Model m2.1", "3-6 Children release-1", "6-7 Model m3.1", "7-… Idle")
}

func TestTraceOfADeletedChatEndsWithIt(t *testing.T) {
	begin := historytest.Start
	segments := transcript.Segments([]transcript.Step{{UID: "uid", Record: ledger.Event{Seq: 1, At: begin}, After: agent.State{Phase: agent.PhaseIdle}}})
	transcript.Close(segments, begin.Add(time.Minute))
	if got := formatSegment(begin, segments[0]); got != "0-60 Idle" {
		t.Error(got)
	}
	transcript.Close(nil, begin)
}

// TestSegmentsCoverTheLifeOfAnAgent draws what happens to a sub-agent. Its segments are in order without gaps and overlaps, and the time that they
// show as active is what the agent's own clock, which limits its duration, has counted.
func TestSegmentsCoverTheLifeOfAnAgent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pen := historytest.SubAgent(historytest.Chat("team-a", "release", "chat"), "release-1", "uid")
		var state agent.State
		var steps []transcript.Step
		var facts []agent.Fact
		now := agent.Time(historytest.Start.UnixMilli())
		apply := func(fact agent.Fact) {
			event := agent.Event{At: now, Fact: fact}
			next, _ := agent.Step(state, event)
			steps = append(steps, transcript.Step{
				UID: "uid", Record: ledger.Event{Seq: int64(len(steps) + 1), At: time.UnixMilli(int64(now))}, Event: event, Before: state, After: next,
			})
			facts, state = append(facts, fact), next
		}
		apply(pen.Researcher(agent.Limits{MaxRetries: 3}))
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			now += agent.Time(rapid.IntRange(-5, 1000).Draw(t, "elapsed"))
			apply(drawFact(t, state))
		}
		segments := transcript.Segments(steps)
		checkSegments(t, steps, segments)
		var active agent.Millis
		for _, s := range segments {
			end := time.UnixMilli(int64(state.Clock.Now))
			if s.EndTime != nil {
				end = s.EndTime.Time
			}
			waits := s.Kind == api.SegmentUser || slices.Contains([]api.SegmentReason{api.SegmentQuota, api.SegmentSlot, api.SegmentRestart}, s.Reason)
			if !waits {
				active += agent.Millis(end.Sub(s.StartTime.Time).Milliseconds())
			}
		}
		if active != state.Clock.Active {
			t.Fatalf("active for %d ms by the segments and %d ms by the clock: %v of %v", active, state.Clock.Active, segments, facts)
		}
	})
}

func checkSegments(t *rapid.T, steps []transcript.Step, segments []api.Segment) {
	if segments[0].Seq != 1 || !segments[0].StartTime.Time.Equal(steps[0].Record.At) {
		t.Fatalf("begins with %v", segments[0])
	}
	for i, s := range segments {
		last := i == len(segments)-1
		if open := s.EndTime == nil; open && (!last || steps[len(steps)-1].After.Phase.Terminal()) {
			t.Fatalf("segment %d is open: %v", i, segments)
		}
		if !last && (s.EndSeq != segments[i+1].Seq || !s.EndTime.Equal(&segments[i+1].StartTime) || s.EndTime.Time.Before(s.StartTime.Time)) {
			t.Fatalf("segment %d does not end where the next one begins: %v", i, segments)
		}
		if !last && s.Kind == segments[i+1].Kind && s.Reason == segments[i+1].Reason && s.ModelCall == segments[i+1].ModelCall && slices.Equal(s.ToolCalls, segments[i+1].ToolCalls) {
			t.Fatalf("segments %d and the next one are the same: %v", i, segments)
		}
	}
}

// drawFact draws something that can happen to a sub-agent in a state, and sometimes something late.
func drawFact(t *rapid.T, s agent.State) agent.Fact {
	possible := []agent.Fact{agent.Woke{}, agent.Restarted{}, agent.Resumed{}, agent.ToolFinished{Call: "none"}}
	if call := s.ModelCall; call != nil && s.Phase == agent.PhaseRequesting {
		calls := rapid.SliceOfNDistinct(rapid.SampledFrom([]agent.ToolCall{
			{ID: "r", Tool: "read", Arguments: `{}`}, {ID: "s", Tool: "read", Arguments: `{"a":1}`}, {ID: "w", Tool: "write", Arguments: `{}`},
			{ID: "q", Tool: "ask_user", Arguments: `{"question":"Which?"}`},
		}), 1, 4, func(c agent.ToolCall) string { return c.ID }).Draw(t, "calls")
		reply := agent.ModelReplied{Call: call.ID, Calls: calls}
		possible = append(possible, reply, reply, reply,
			agent.ModelFailed{Call: call.ID, Attempt: call.Attempt, Failure: agent.FailureRetry, RetryTime: s.Clock.Now.Add(100)},
			agent.QuotaReached{Call: call.ID, Attempt: call.Attempt, QuotaWait: agent.QuotaWait{Reason: "QuotaReached"}},
			agent.QuotaGranted{Call: call.ID, Attempt: call.Attempt})
	}
	for _, c := range s.Batch {
		possible = append(possible, agent.ToolFinished{Call: c.ID, Outcome: agent.ToolSucceeded}, agent.Decided{Call: c.ID, Approve: true}, agent.Answered{Call: c.ID, Text: "This."})
	}
	if rapid.IntRange(0, 30).Draw(t, "cancel") == 0 {
		return agent.Cancelled{}
	}
	return rapid.SampledFrom(possible).Draw(t, "fact")
}
