// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/money"
)

// seedReports appends two chats: "release" in team-a with an orchestrator, a coder below it and a tester below that, and "other"
// in team-b with one running agent.
func seedReports(t *testing.T, l ledger.Ledger) {
	t.Helper()
	seed := func(uid, parent, namespace, chat, role, model string, created int, finish *ledger.Finish, calls ...ledger.ModelResult) {
		a := Agent(uid)
		a.Parent, a.Root, a.Namespace, a.Chat, a.Role, a.Model, a.CreatedAt = parent, "chat", namespace, chat, role, model, at(created)
		if chat == "other" {
			a.Root = uid
		}
		batch := First(a, 1)
		batch.Finish = finish
		for i, result := range calls {
			call := modelCall(fmt.Sprintf("%s/%d", uid, i), created+i)
			call.Model = model
			batch.ModelCalls = append(batch.ModelCalls, call)
			if result.Status != "" {
				result.Key, result.FinishedAt = call.Key, at(created+i+2)
				batch.ModelResults = append(batch.ModelResults, result)
			}
		}
		if role == "coder" {
			batch.ToolCalls = []ledger.ToolCall{toolCall(uid+"/t1", "c1", created), toolCall(uid+"/t2", "c2", created)}
		}
		Append(t, l, batch)
	}
	done := func(status ledger.Status, tokens int64, cost *int64) ledger.ModelResult {
		result := ledger.ModelResult{Status: status, PromptTokens: &tokens, CompletionTokens: &tokens, CostMicros: cost}
		if cost != nil {
			result.Currency = "USD"
		}
		return result
	}
	ok := func(seconds int) *ledger.Finish { return &ledger.Finish{Status: ledger.StatusSuccess, At: at(seconds)} }
	failed := func(seconds int) *ledger.Finish {
		return &ledger.Finish{Status: ledger.StatusFailed, ErrorKind: "TimedOut", At: at(seconds)}
	}
	seed("chat", "", "team-a", "release", "orchestrator", "large", 0, nil, done(ledger.StatusSuccess, 10, ptr(int64(100))))
	seed("coder", "chat", "team-a", "release", "coder", "small", 10, ok(40),
		done(ledger.StatusSuccess, 20, ptr(int64(200))), done(ledger.StatusFailed, 5, nil))
	inEuros := done(ledger.StatusSuccess, 7, ptr(int64(70)))
	inEuros.Currency = "EUR"
	seed("tester", "coder", "team-a", "release", "tester", "small", 20, failed(30), inEuros)
	seed("second", "", "team-b", "other", "coder", "small", 50, nil, ledger.ModelResult{})
}

func testRunsHaveTimings(t *testing.T, db Database) {
	l := db.Open(t)
	seedReports(t, l)
	tree := ledger.AgentFilter{Scope: ledger.Scope{Root: "chat"}}
	runs := pages(t, 2, func(p ledger.Page) (ledger.List[ledger.Run], error) { return l.Runs(t.Context(), tree, p) })
	type line struct {
		Parent, UID   string
		Took, Thought time.Duration
		Calls, Tools  int64
	}
	var got []line
	for _, run := range runs {
		took := time.Duration(-1)
		if !run.Live() {
			took = run.FinishedAt.Sub(run.CreatedAt)
		}
		got = append(got, line{run.Parent, run.UID, took, run.Models.TotalDuration, run.Models.Total, run.Tools})
	}
	want := []line{
		{"", "chat", -1, 2 * time.Second, 1, 0},
		{"chat", "coder", 30 * time.Second, 4 * time.Second, 2, 2},
		{"coder", "tester", 10 * time.Second, 2 * time.Second, 1, 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	tree.Root = "unknown"
	if empty := must(l.Runs(t.Context(), tree, ledger.Page{}))(t); len(empty.Items) != 0 {
		t.Errorf("the runs of an unknown root: %v", empty)
	}
}

func testUsageByDimension(t *testing.T, db Database) {
	l := db.Open(t)
	seedReports(t, l)
	orchestrator := ledger.CallTotals{
		Tally:        ledger.Tally{Total: 1, Succeeded: 1, TotalDuration: 2 * time.Second, MaxDuration: 2 * time.Second},
		PromptTokens: 10, CompletionTokens: 10, Costs: money.Sums{"USD": 100},
	}
	coder := ledger.CallTotals{
		Tally:        ledger.Tally{Total: 2, Succeeded: 1, TotalDuration: 4 * time.Second, MaxDuration: 2 * time.Second},
		PromptTokens: 25, CompletionTokens: 25, Costs: money.Sums{"USD": 200}, UnknownCostCalls: 1,
	}
	tester := ledger.CallTotals{
		Tally:        ledger.Tally{Total: 1, Succeeded: 1, TotalDuration: 2 * time.Second, MaxDuration: 2 * time.Second},
		PromptTokens: 7, CompletionTokens: 7, Costs: money.Sums{"EUR": 70},
	}
	running := ledger.CallTotals{Tally: ledger.Tally{Total: 1, Running: 1}}
	for name, test := range map[string]struct {
		query ledger.ReportQuery
		want  []ledger.Usage
	}{
		"role": {ledger.ReportQuery{GroupBy: []ledger.Dimension{ledger.ByRole}}, []ledger.Usage{
			{Group: ledger.Group{Role: "coder"}, CallTotals: sum(coder, running)},
			{Group: ledger.Group{Role: "orchestrator"}, CallTotals: orchestrator},
			{Group: ledger.Group{Role: "tester"}, CallTotals: tester},
		}},
		"model": {ledger.ReportQuery{GroupBy: []ledger.Dimension{ledger.ByModel}}, []ledger.Usage{
			{Group: ledger.Group{Model: "large"}, CallTotals: orchestrator},
			{Group: ledger.Group{Model: "small"}, CallTotals: sum(coder, tester, running)},
		}},
		"namespace": {ledger.ReportQuery{GroupBy: []ledger.Dimension{ledger.ByNamespace}}, []ledger.Usage{
			{Group: ledger.Group{Namespace: "team-a"}, CallTotals: sum(orchestrator, coder, tester)},
			{Group: ledger.Group{Namespace: "team-b"}, CallTotals: running},
		}},
		"chat and role": {
			ledger.ReportQuery{Scope: ledger.Scope{Namespace: "team-a"}, GroupBy: []ledger.Dimension{ledger.ByChat, ledger.ByRole}},
			[]ledger.Usage{
				{Group: ledger.Group{Chat: "release", Role: "coder"}, CallTotals: coder},
				{Group: ledger.Group{Chat: "release", Role: "orchestrator"}, CallTotals: orchestrator},
				{Group: ledger.Group{Chat: "release", Role: "tester"}, CallTotals: tester},
			}},
		"all of a chat":  {ledger.ReportQuery{Scope: ledger.Scope{Chat: "release"}}, []ledger.Usage{{CallTotals: sum(orchestrator, coder, tester)}}},
		"tree and model": {ledger.ReportQuery{Scope: ledger.Scope{Root: "chat", Model: "small"}}, []ledger.Usage{{CallTotals: sum(coder, tester)}}},
		"nothing":        {ledger.ReportQuery{Scope: ledger.Scope{Role: "poet"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, limit := range []int{1, 0} {
				got := pages(t, limit, func(p ledger.Page) (ledger.List[ledger.Usage], error) { return l.Usage(t.Context(), test.query, p) })
				if diff := cmp.Diff(test.want, usageByGroup(got)); diff != "" {
					t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
				}
			}
		})
	}
	bad := ledger.ReportQuery{GroupBy: []ledger.Dimension{"1; DROP TABLE events"}}
	if _, err := l.Usage(t.Context(), bad, ledger.Page{}); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("an unknown dimension: %v, want ErrInvalid", err)
	}
}

// A reader adds up the groups of all pages. A group that appears or ends meanwhile must not make it count another one twice, or not at all.
func testUsagePagesDoNotShift(t *testing.T, db Database) {
	l := db.Open(t)
	seedReports(t, l)
	every := ledger.ReportQuery{GroupBy: []ledger.Dimension{ledger.ByRole}, Every: 24 * time.Hour}
	first := must(l.Usage(t.Context(), every, ledger.Page{Limit: 2}))(t)
	late := Agent("late")
	late.Role, late.Root, late.CreatedAt = "architect", "late", at(60)
	batch := First(late, 1)
	batch.ModelCalls = []ledger.ModelCall{modelCall("late/0", 60)}
	Append(t, l, batch)
	rest := must(l.Usage(t.Context(), every, ledger.Page{Cursor: first.Next}))(t)
	got := names(append(first.Items, rest.Items...), func(u ledger.Usage) string { return u.Role })
	if want := []string{"coder", "coder", "orchestrator", "tester"}; !slices.Equal(got, want) {
		t.Errorf("the pages have the roles %q, want %q", got, want)
	}
	for _, cursor := range []string{"2", "[]", `["x","coder",""]`} {
		if _, err := l.Usage(t.Context(), every, ledger.Page{Cursor: cursor}); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("the cursor %s: %v, want ErrInvalid", cursor, err)
		}
	}
}

// usageByGroup adds up the usage of a group in all currencies. The groups keep their order.
func usageByGroup(usages []ledger.Usage) []ledger.Usage {
	var sums []ledger.Usage
	for _, u := range usages {
		if last := len(sums) - 1; last >= 0 && sums[last].Group == u.Group {
			sums[last].CallTotals = sums[last].Plus(u.CallTotals)
			continue
		}
		sums = append(sums, u)
	}
	return sums
}

func sum(parts ...ledger.CallTotals) ledger.CallTotals {
	var s ledger.CallTotals
	for _, p := range parts {
		s = s.Plus(p)
	}
	return s
}

func testUsageInTimeRange(t *testing.T, db Database) {
	l := db.Open(t)
	seedReports(t, l)
	for _, test := range []struct {
		since, until time.Time
		calls        int64
	}{
		{time.Time{}, time.Time{}, 5},
		{at(10), time.Time{}, 4},
		{at(11), time.Time{}, 3},
		{time.Time{}, at(11), 2},
		{at(10), at(20), 2},
		{at(100), time.Time{}, 0},
	} {
		usage := must(l.Usage(t.Context(), ledger.ReportQuery{Scope: ledger.Scope{Since: test.since, Until: test.until}}, ledger.Page{}))(t)
		var got int64
		for _, u := range usage.Items {
			got += u.Total
		}
		if got != test.calls {
			t.Errorf("from %v to %v: %d calls, want %d", test.since, test.until, got, test.calls)
		}
	}
}

func testUsageOverTime(t *testing.T, db Database) {
	l := db.Open(t)
	midnight := time.Date(2026, time.November, 17, 0, 0, 0, 0, time.UTC)
	// around the end of an hour and of a day, in another zone
	for i, start := range []time.Duration{-time.Hour, -time.Microsecond, 0, time.Hour - time.Microsecond, time.Hour, 24 * time.Hour} {
		a := Agent(fmt.Sprintf("agent-%d", i))
		a.Role, a.Namespace, a.CreatedAt = "coder", "team-a", midnight.Add(start).In(time.FixedZone("CET", 3600))
		batch := First(a, 1)
		call := modelCall(a.UID+"/0", 0)
		call.StartedAt = a.CreatedAt
		batch.ModelCalls = []ledger.ModelCall{call}
		batch.ModelResults = []ledger.ModelResult{{
			Key: call.Key, Status: ledger.StatusSuccess, FinishedAt: call.StartedAt.Add(time.Second), PromptTokens: ptr(int64(10)),
			CompletionTokens: ptr(int64(5)), ReasoningTokens: ptr(int64(2)), CostMicros: ptr(int64(1) << i),
		}}
		batch.Finish = &ledger.Finish{Status: ledger.StatusSuccess, At: call.StartedAt.Add(2 * time.Second)}
		Append(t, l, batch)
	}
	type line struct {
		Start                                time.Time
		Role                                 string
		Calls, Runs, Tokens, Reasoning, Cost int64
	}
	for name, test := range map[string]struct {
		query ledger.ReportQuery
		want  []line
	}{
		"by hour": {ledger.ReportQuery{Every: time.Hour}, []line{
			{midnight.Add(-time.Hour), "", 2, 2, 30, 4, 1 + 2}, {midnight, "", 2, 2, 30, 4, 4 + 8},
			{midnight.Add(time.Hour), "", 1, 1, 15, 2, 16}, {midnight.Add(24 * time.Hour), "", 1, 1, 15, 2, 32},
		}},
		"by day and role, of a namespace": {
			ledger.ReportQuery{Scope: ledger.Scope{Namespace: "team-a"}, Every: 24 * time.Hour, GroupBy: []ledger.Dimension{ledger.ByRole}},
			[]line{{midnight.Add(-24 * time.Hour), "coder", 2, 2, 30, 4, 1 + 2}, {midnight, "coder", 3, 3, 45, 6, 4 + 8 + 16}, {midnight.Add(24 * time.Hour), "coder", 1, 1, 15, 2, 32}},
		},
		"of a day": {
			ledger.ReportQuery{Scope: ledger.Scope{Since: midnight, Until: midnight.Add(24 * time.Hour)}, Every: 24 * time.Hour},
			[]line{{midnight, "", 3, 3, 45, 6, 4 + 8 + 16}},
		},
		"of nothing": {ledger.ReportQuery{Scope: ledger.Scope{Namespace: "team-b"}, Every: time.Hour}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, limit := range []int{1, 0} {
				calls := pages(t, limit, func(p ledger.Page) (ledger.List[ledger.Usage], error) { return l.Usage(t.Context(), test.query, p) })
				runs := pages(t, limit, func(p ledger.Page) (ledger.List[ledger.Outcome], error) {
					return l.Outcomes(t.Context(), test.query, p)
				})
				if len(calls) != len(runs) {
					t.Fatalf("%d rows of calls and %d of runs", len(calls), len(runs))
				}
				var got []line
				for i, c := range calls {
					if runs[i].Group != c.Group {
						t.Errorf("row %d is %v for calls and %v for runs", i, c.Group, runs[i].Group)
					}
					got = append(got, line{c.Start, c.Role, c.Total, runs[i].Total, c.PromptTokens + c.CompletionTokens, c.ReasoningTokens, c.Costs[""]})
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
				}
			}
		})
	}
	for _, every := range []time.Duration{-time.Hour, time.Minute} {
		if _, err := l.Usage(t.Context(), ledger.ReportQuery{Every: every}, ledger.Page{}); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("intervals of %s: %v, want ErrInvalid", every, err)
		}
	}
}

func testOutcomesByRole(t *testing.T, db Database) {
	l := db.Open(t)
	seedReports(t, l)
	got := must(l.Outcomes(t.Context(), ledger.ReportQuery{GroupBy: []ledger.Dimension{ledger.ByRole}}, ledger.Page{}))(t).Items
	want := []ledger.Outcome{
		{
			Group: ledger.Group{Role: "coder"},
			Tally: ledger.Tally{Total: 2, Running: 1, Succeeded: 1, TotalDuration: 30 * time.Second, MaxDuration: 30 * time.Second},
		},
		{Group: ledger.Group{Role: "orchestrator"}, Tally: ledger.Tally{Total: 1, Running: 1}},
		{Group: ledger.Group{Role: "tester"}, Tally: ledger.Tally{Total: 1, TotalDuration: 10 * time.Second, MaxDuration: 10 * time.Second}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("outcomes (-want +got):\n%s", diff)
	}
	if rate, ok := got[0].SuccessRate(); !ok || rate != 1 {
		t.Errorf("success rate of coders %v %v, want 1 without the running one", rate, ok)
	}
	if _, ok := got[1].SuccessRate(); ok {
		t.Error("orchestrators have a success rate, but none has finished")
	}
	if mean, ok := got[2].MeanDuration(); !ok || mean != 10*time.Second {
		t.Errorf("mean duration of testers %v %v, want 10s", mean, ok)
	}
}

func testCancelledIsNotFailed(t *testing.T, db Database) {
	l := db.Open(t)
	for i, status := range []ledger.Status{ledger.StatusSuccess, ledger.StatusCancelled, ledger.StatusFailed, ledger.StatusTimedOut} {
		batch := First(Agent(fmt.Sprintf("agent-%d", i)), 1)
		batch.Finish = &ledger.Finish{Status: status, At: at(10)}
		Append(t, l, batch)
	}
	got := must(l.Outcomes(t.Context(), ledger.ReportQuery{}, ledger.Page{}))(t).Items[0]
	rate, _ := got.SuccessRate()
	if got.Succeeded != 1 || got.Cancelled != 1 || got.Failed() != 2 || rate != 1.0/3 {
		t.Errorf("%d succeeded, %d were cancelled, %d failed, rate %v", got.Succeeded, got.Cancelled, got.Failed(), rate)
	}
}
