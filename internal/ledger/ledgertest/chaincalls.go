// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// testCallsOfAChainAreStoredOnce appends requests that repeat the tool calls of the previous reply, some of them long, from two
// processes by turns. It then prunes all replies but the last, whose tool calls later requests still contain.
func testCallsOfAChainAreStoredOnce(t *testing.T, db Database) {
	const turns = 6
	l := []ledger.Ledger{db.Open(t), db.Open(t)}
	var messages, requests, calls []json.RawMessage
	for i := range turns {
		key := fmt.Sprintf("a/model/m%d/1", i)
		whole := encoded(map[string]any{"messages": append([]json.RawMessage{encoded("system")}, messages...), "z": key})
		call := modelCall(key, 10*i)
		call.Seq, call.Chain, call.Place, call.Request = int64(2*i+1), 1, i, whole
		if i > 0 {
			edit, ok := Compare(requests[i-1], whole)
			if !ok {
				t.Fatal("a continued conversation is no edit")
			}
			call.Request = edit.Encode()
		}
		requests = append(requests, whole)
		arguments := fmt.Sprintf("search for %d", i) + strings.Repeat(" and more", 30*(i%3))
		calls = append(calls, encoded([]map[string]string{{"id": fmt.Sprint("call_", i), "arguments": arguments}}))
		messages = append(messages, encoded(map[string]any{"role": "assistant", "toolCalls": calls[i]}))
		result := modelDone(key, ledger.StatusSuccess, 10*i+5)
		result.ToolCalls, result.Response = calls[i], encoded(map[string]any{"toolCalls": calls[i]})
		asked := ledger.Batch{Agent: "a", After: int64(2 * i), Events: Events("a", 1), ModelCalls: []ledger.ModelCall{call}}
		if i == 0 {
			record := Agent("a")
			asked.Create = &record
		}
		Append(t, l[i/2%2], asked, ledger.Batch{Agent: "a", After: int64(2*i + 1), Events: []ledger.Event{textEvent(arguments, 10*i)},
			ModelResults: []ledger.ModelResult{result}})
	}
	want := func(first int) {
		t.Helper()
		for i := first; i < turns; i++ {
			call := must(db.Open(t).ModelCall(t.Context(), fmt.Sprintf("a/model/m%d/1", i)))(t)
			if !bytes.Equal(call.Request, requests[i]) || !bytes.Equal(call.Result.ToolCalls, calls[i]) {
				t.Errorf("call %d is read as\n%s\n%s, want\n%s\n%s", i, call.Request, call.Result.ToolCalls, requests[i], calls[i])
			}
		}
	}
	want(0)
	count := func(condition string) (n int) {
		t.Helper()
		if err := db.Raw.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM model_calls WHERE `+condition).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	// The first request after a change of processes contains the calls.
	if n := count(`CAST(request AS TEXT) LIKE '%search for%'`); n != 2 {
		t.Errorf("%d requests contain the tool calls too, want 2", n)
	}
	must(ledger.RetainCalls(t.Context(), l[0], at(10*(turns-1))))(t)
	if pruned := must(l[0].ModelCall(t.Context(), "a/model/m1/1"))(t); pruned.PrunedAt.IsZero() || pruned.Result.ToolCalls != nil {
		t.Errorf("a pruned call has the tool calls %s", pruned.Result.ToolCalls)
	}
	want(turns - 1)
	must(ledger.RetainCalls(t.Context(), l[0], at(1000)))(t)
	must(l[0].PruneCalls(t.Context(), at(1000), 0))(t)
	if n := count(`tool_calls IS NOT NULL`); n > 0 {
		t.Errorf("%d tool calls of a deleted chain remain", n)
	}
}
