// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/ledger"
)

var thisHour = start.Truncate(time.Hour)

// startCalls starts an agent with open model calls, one second apart.
func startCalls(t testing.TB, l ledger.Ledger, uid string, keys ...string) {
	t.Helper()
	batch := First(Agent(uid), 1)
	for i, key := range keys {
		batch.ModelCalls = append(batch.ModelCalls, modelCall(key, i))
	}
	Append(t, l, batch)
}

// endCall records the result of a model call; negative tokens and cost are unknown.
func endCall(t testing.TB, l ledger.Ledger, uid, key string, status ledger.Status, tokens, cost int64) {
	t.Helper()
	result := modelDone(key, status, 60)
	if tokens >= 0 {
		result.PromptTokens, result.CompletionTokens = ptr(tokens-1), ptr(int64(1))
	}
	if cost >= 0 {
		result.CostMicros = &cost
	}
	Append(t, l, ledger.Batch{Agent: uid, After: 1, ModelResults: []ledger.ModelResult{result}})
}

// hourly returns a request for reservations under one limit for the hour of a time.
func hourly(at time.Time, tokens, cost int64, calls ...ledger.QuotaCall) ledger.QuotaRequest {
	return ledger.QuotaRequest{Namespace: "team-a", At: at, Calls: calls,
		Limits: []ledger.QuotaLimit{{Since: at.Truncate(time.Hour), Tokens: tokens, CostMicros: cost}}}
}

func reserve(t testing.TB, l ledger.Ledger, request ledger.QuotaRequest) ledger.QuotaAnswer {
	t.Helper()
	return must(l.Reserve(t.Context(), []ledger.QuotaRequest{request}))(t)[0]
}

// wantCount compares the counts in the hour of a time.
func wantCount(t testing.TB, l ledger.Ledger, at time.Time, want ledger.QuotaCount) {
	t.Helper()
	if diff := cmp.Diff([]ledger.QuotaCount{want}, reserve(t, l, hourly(at, 0, 0)).Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func testReservationsRespectLimits(t *testing.T, db Database) {
	l := db.Open(t)
	startCalls(t, l, "a", "k1", "k2", "k3", "k4")
	got := reserve(t, l, hourly(at(1), 100, 50,
		ledger.QuotaCall{Key: "k1", Tokens: 60, CostMicros: 10}, ledger.QuotaCall{Key: "k2", Tokens: 41},
		ledger.QuotaCall{Key: "k3", Tokens: 1, CostMicros: 41}, ledger.QuotaCall{Key: "k4", Tokens: 40, CostMicros: 40}))
	want := ledger.QuotaAnswer{Granted: []bool{true, false, false, true},
		Counts: []ledger.QuotaCount{{ReservedTokens: 100, ReservedCostMicros: 50}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func testSettlementCountsRealUsage(t *testing.T, db Database) {
	l := db.Open(t)
	startCalls(t, l, "a", "used", "unknown", "failed", "cancelled", "open")
	var calls []ledger.QuotaCall
	for _, key := range []string{"used", "unknown", "failed", "cancelled", "open"} {
		calls = append(calls, ledger.QuotaCall{Key: key, Tokens: 100, CostMicros: 10})
	}
	reserve(t, l, hourly(at(1), 0, 0, calls...))
	wantCount(t, l, at(2), ledger.QuotaCount{ReservedTokens: 500, ReservedCostMicros: 50})
	endCall(t, l, "a", "used", ledger.StatusSuccess, 30, 3)
	endCall(t, l, "a", "unknown", ledger.StatusSuccess, -1, -1)
	endCall(t, l, "a", "failed", ledger.StatusFailed, -1, -1)
	endCall(t, l, "a", "cancelled", ledger.StatusCancelled, -1, -1)
	for range 2 { // settling twice changes nothing
		wantCount(t, l, at(3), ledger.QuotaCount{Tokens: 130, CostMicros: 13, ReservedTokens: 100, ReservedCostMicros: 10})
	}
	if n := db.rows(t, "quota_reservations"); n != 1 {
		t.Errorf("%d reservations remain, want only that of the open call", n)
	}
}

// testReservationSurvivesACrash opens the ledger again between the steps of a call, as after a kill of the operator.
func testReservationSurvivesACrash(t *testing.T, db Database) {
	l := db.Open(t)
	startCalls(t, l, "a", "k")
	call := ledger.QuotaCall{Key: "k", Tokens: 70, CostMicros: 7}
	for range 2 { // the second operator repeats the call
		if got := reserve(t, l, hourly(at(1), 100, 0, call)); !got.Granted[0] {
			t.Fatal("the call has no reservation")
		}
		l = db.Open(t)
		wantCount(t, l, at(2), ledger.QuotaCount{ReservedTokens: 70, ReservedCostMicros: 7})
	}
	endCall(t, l, "a", "k", ledger.StatusSuccess, 50, 5)
	l = db.Open(t) // killed after the result, before the reservation is settled
	for range 2 {
		wantCount(t, l, at(3), ledger.QuotaCount{Tokens: 50, CostMicros: 5})
	}
}

// testRacingReservationsNeverExceed lets two processes reserve and finish calls concurrently. The limit must never be exceeded.
func testRacingReservationsNeverExceed(t *testing.T, db Database) {
	const workers, rounds, limit = 8, 10, 250
	ledgers := []ledger.Ledger{db.Open(t), db.Open(t)}
	for i := range workers {
		batch := First(Agent(fmt.Sprintf("agent-%d", i)), 1)
		for round := range rounds {
			batch.ModelCalls = append(batch.ModelCalls, modelCall(fmt.Sprintf("agent-%d/%d", i, round), 0))
		}
		Append(t, ledgers[0], batch)
	}
	inParallel(t, workers, func(i int) error {
		l, uid := ledgers[i%len(ledgers)], fmt.Sprintf("agent-%d", i)
		for round := range rounds {
			key := fmt.Sprintf("%s/%d", uid, round)
			answers, err := l.Reserve(t.Context(), []ledger.QuotaRequest{hourly(at(1), limit, 0, ledger.QuotaCall{Key: key, Tokens: 10})})
			if err != nil {
				return err
			}
			if count := answers[0].Counts[0]; count.Tokens+count.ReservedTokens > limit {
				return fmt.Errorf("%+v exceeds the limit of %d", count, limit)
			}
			if !answers[0].Granted[0] {
				continue
			}
			result := modelDone(key, ledger.StatusSuccess, 2)
			result.PromptTokens, result.CompletionTokens = ptr(int64(3)), ptr(int64(1))
			if err := l.Append(t.Context(), ledger.Batch{Agent: uid, After: 1, ModelResults: []ledger.ModelResult{result}}); err != nil {
				return err
			}
		}
		return nil
	})
	total := reserve(t, ledgers[1], hourly(at(2), limit, 0)).Counts[0]
	var used int64
	if err := db.Raw.QueryRowContext(t.Context(), "SELECT COALESCE(SUM(total_tokens), 0) FROM model_calls").Scan(&used); err != nil {
		t.Fatal(err)
	}
	if total.Tokens != used || total.ReservedTokens != 0 || used == 0 {
		t.Errorf("the count is %+v, but the calls used %d", total, used)
	}
}

func testQuotaCountsFromTheStartOfItsPeriod(t *testing.T, db Database) {
	l := db.Open(t)
	other := Agent("b")
	other.Namespace = "team-b"
	foreign := First(other, 1)
	foreign.ModelCalls = []ledger.ModelCall{modelCall("foreign", 0)}
	Append(t, l, foreign)
	old := First(Agent("old"), 1)
	old.ModelCalls = []ledger.ModelCall{modelCall("old", -7200)}
	Append(t, l, old)
	endCall(t, l, "b", "foreign", ledger.StatusSuccess, 1000, 100)
	endCall(t, l, "old", "old", ledger.StatusSuccess, 5, 1)
	startCalls(t, l, "a", "before", "reserved", "in-flight")
	endCall(t, l, "a", "before", ledger.StatusSuccess, 40, 4)

	request := hourly(at(1), 0, 0, ledger.QuotaCall{Key: "reserved", Tokens: 20, CostMicros: 2})
	request.Limits = append(request.Limits, ledger.QuotaLimit{Since: thisHour.Truncate(24 * time.Hour)})
	request.Recount = true
	want := []ledger.QuotaCount{{Tokens: 40, CostMicros: 4, ReservedTokens: 20, ReservedCostMicros: 2}, {Tokens: 45, CostMicros: 5, ReservedTokens: 20, ReservedCostMicros: 2}}
	if diff := cmp.Diff(want, reserve(t, l, request).Counts); diff != "" {
		t.Errorf("counts of a new quota (-want +got):\n%s", diff)
	}
	// A call that was in flight when the quota was created, and one with a reservation, count once each, however often the calls
	// are recounted.
	endCall(t, l, "a", "in-flight", ledger.StatusSuccess, 7, 0)
	endCall(t, l, "a", "reserved", ledger.StatusSuccess, 10, 1)
	request.Calls = nil
	for range 2 {
		want := []ledger.QuotaCount{{Tokens: 57, CostMicros: 5}, {Tokens: 62, CostMicros: 6}}
		if diff := cmp.Diff(want, reserve(t, l, request).Counts); diff != "" {
			t.Errorf("counts after the calls (-want +got):\n%s", diff)
		}
	}
}

// testQuotaHoldsInOneCurrency reserves and settles in two currencies: a limit of money allows only the first.
func testQuotaHoldsInOneCurrency(t *testing.T, db Database) {
	l := db.Open(t)
	startCalls(t, l, "a", "free", "eur", "usd", "unknown", "later")
	call := func(key, currency string, cost int64) ledger.QuotaCall {
		return ledger.QuotaCall{Key: key, Tokens: 10, CostMicros: cost, Currency: currency}
	}
	granted := func(limit int64, calls ...ledger.QuotaCall) []bool {
		return reserve(t, l, hourly(at(1), 0, limit, calls...)).Granted
	}
	if got := granted(100, call("free", "USD", 0), call("eur", "EUR", 10), call("usd", "USD", 10), call("unknown", "EUR", 10)); !slices.Equal(got, []bool{true, true, false, true}) {
		t.Fatalf("granted are %v, want all but that in dollars", got)
	}
	inEuros := modelDone("eur", ledger.StatusSuccess, 60)
	inEuros.PromptTokens, inEuros.CompletionTokens, inEuros.CostMicros, inEuros.Currency = ptr(int64(4)), ptr(int64(1)), ptr(int64(3)), "EUR"
	Append(t, l, ledger.Batch{Agent: "a", After: 1, ModelResults: []ledger.ModelResult{inEuros}})
	endCall(t, l, "a", "unknown", ledger.StatusSuccess, 7, -1) // it costs what was reserved, in the currency of the reservation
	l = db.Open(t)
	if got := granted(100, call("usd", "USD", 10)); got[0] {
		t.Error("dollars are granted after a restart")
	}
	for range 2 {
		request := hourly(at(2), 0, 0)
		request.Recount = true
		want := ledger.QuotaCount{Tokens: 12, CostMicros: 13, ReservedTokens: 10, Currency: "EUR"}
		if diff := cmp.Diff([]ledger.QuotaCount{want}, reserve(t, l, request).Counts); diff != "" {
			t.Fatalf("counts (-want +got):\n%s", diff)
		}
	}
	if got := granted(0, call("usd", "USD", 10)); !got[0] {
		t.Error("without a limit of money dollars are not granted")
	}
	if got := granted(100, call("later", "EUR", 1)); got[0] {
		t.Error("euros are granted after calls in two currencies")
	}
}

// testWaitingCallCountsWhenItStarts reserves in the hour after the one in which the intent was recorded.
func testWaitingCallCountsWhenItStarts(t *testing.T, db Database) {
	l := db.Open(t)
	startCalls(t, l, "a", "k")
	later := thisHour.Add(time.Hour)
	reserve(t, l, hourly(later, 0, 0, ledger.QuotaCall{Key: "k", Tokens: 20}))
	if call := must(l.ModelCall(t.Context(), "k"))(t); !call.StartedAt.Equal(later) {
		t.Errorf("the call started at %s, want %s", call.StartedAt, later)
	}
	endCall(t, l, "a", "k", ledger.StatusSuccess, 15, 0)
	wantCount(t, l, later, ledger.QuotaCount{Tokens: 15})
	request := hourly(later.Add(time.Minute), 0, 0)
	request.Recount = true
	if got := reserve(t, l, request).Counts[0].Tokens; got != 15 {
		t.Errorf("a recount gives %d tokens, want 15", got)
	}
}

func testPruneKeepsQuotaCounts(t *testing.T, db Database) {
	l := db.Open(t)
	now := time.Now().UTC()
	for i, age := range []time.Duration{time.Hour, 20 * 24 * time.Hour, 40 * 24 * time.Hour} {
		uid := fmt.Sprintf("agent-%d", i)
		startCalls(t, l, uid, uid)
		reserve(t, l, hourly(now.Add(-age), 0, 0, ledger.QuotaCall{Key: uid, Tokens: 5}))
		endCall(t, l, uid, uid, ledger.StatusSuccess, 5, 0)
		reserve(t, l, hourly(now.Add(-age), 0, 0))
	}
	must(l.Prune(t.Context(), now.Add(-24*time.Hour), 0))(t)
	if n := db.rows(t, "quota_usage"); n != 2 {
		t.Errorf("%d hours remain, want the 2 that a month may count", n)
	}
}
