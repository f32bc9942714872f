// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package bare_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/test/bench/bare"
)

func run(t *testing.T, load bare.Load) (bare.Outcome, []ledger.ToolCall) {
	t.Helper()
	url := "sqlite:" + filepath.Join(t.TempDir(), "ledger.db")
	outcome, err := bare.Run(t.Context(), url, load, func(context.Context) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	store := ledgertest.Open(t, url)
	var calls []ledger.ToolCall
	agents, err := store.Agents(t.Context(), ledger.AgentFilter{}, ledger.Page{Limit: ledger.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range agents.Items {
		if !strings.HasPrefix(a.Name, "agent-") {
			continue // the warm-up agent
		}
		list, err := store.ToolCalls(t.Context(), a.UID, ledger.Page{Limit: ledger.MaxLimit})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			call, err := store.ToolCall(t.Context(), item.Key)
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, call)
		}
	}
	return outcome, calls
}

func TestAgentsMakeTurnsWithIntents(t *testing.T) {
	outcome, calls := run(t, bare.Load{Agents: 6, AtOnce: 2, Turns: 3, ResultBytes: 1 << 10})
	if outcome.Failures != 0 || len(outcome.Took) != 6 || outcome.Wall <= 0 || outcome.CPU <= 0 || outcome.PeakRSS <= 0 {
		t.Errorf("measured %+v", outcome)
	}
	if len(calls) != 6*3 {
		t.Fatalf("%d tool calls, want 18", len(calls))
	}
	results := map[string]bool{}
	for _, call := range calls {
		if call.Result == nil || call.Result.Status != ledger.StatusSuccess || len(call.Result.Output) < 1<<10 {
			t.Fatalf("%s ended with %+v", call.Key, call.Result)
		}
		results[string(call.Result.Output)] = true
	}
	if len(results) != len(calls) {
		t.Errorf("%d different results of %d calls", len(results), len(calls))
	}
	// Each result once, and less than half as much for requests and replies.
	if least := int64(len(calls) << 10); outcome.UniqueBytes < least || outcome.UniqueBytes > least*3/2+6*2048 {
		t.Errorf("%d unique bytes for %d of results", outcome.UniqueBytes, least)
	}
}

func TestSmallContextCompactsHistory(t *testing.T) {
	load := bare.Load{Agents: 1, AtOnce: 1, Turns: 20, ResultBytes: 5 << 10, SampleEvery: 2, ContextTokens: 10_000}
	small, _ := run(t, load)
	load.ContextTokens = 1 << 40
	large, _ := run(t, load)
	if small.Failures != 0 || small.Compactions == 0 {
		t.Errorf("with a small context: %d failures, %d compactions", small.Failures, small.Compactions)
	}
	if large.Failures != 0 || large.Compactions != 0 {
		t.Errorf("with a large context: %d failures, %d compactions", large.Failures, large.Compactions)
	}
	if len(large.Samples) != 11 {
		t.Fatalf("%d samples, want one of the beginning and ten", len(large.Samples))
	}
	sentSmall, sentLarge := small.Samples[10].Sent-small.Samples[0].Sent, large.Samples[10].Sent-large.Samples[0].Sent
	if sentSmall >= sentLarge {
		t.Errorf("%d bytes were sent with compaction, %d without", sentSmall, sentLarge)
	}
}
