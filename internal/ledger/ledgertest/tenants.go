// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// tenant starts an agent of a namespace with a UID, with a model call that used ten tokens.
func tenant(t testing.TB, l ledger.Ledger, uid, namespaceUID string, seconds int) {
	t.Helper()
	agent := Agent(uid)
	agent.NamespaceUID, agent.CreatedAt = namespaceUID, at(seconds)
	batch := First(agent, 1)
	batch.ModelCalls = []ledger.ModelCall{modelCall(uid+"/m", seconds)}
	result := modelDone(uid+"/m", ledger.StatusSuccess, seconds+1)
	result.PromptTokens, result.CompletionTokens = ptr(int64(9)), ptr(int64(1))
	batch.ModelResults = []ledger.ModelResult{result}
	Append(t, l, batch)
}

func testNamespaceIsItsUID(t *testing.T, db Database) {
	l := db.Open(t)
	tenant(t, l, "old", "uid-1", 2)
	tenant(t, l, "new", "uid-2", 12)
	for _, c := range []struct {
		scope ledger.Scope
		want  []string
	}{
		{ledger.Scope{Namespace: "team-a"}, []string{"old", "new"}},
		{ledger.Scope{Namespace: "team-a", NamespaceUID: "uid-2"}, []string{"new"}},
		{ledger.Scope{Namespace: "team-a", NamespaceUID: "uid-1"}, []string{"old"}},
		{ledger.Scope{Namespace: "team-b", NamespaceUID: "uid-2"}, []string{}},
	} {
		uid := func(a ledger.Agent) string { return a.UID }
		agents := must(l.Agents(t.Context(), ledger.AgentFilter{Scope: c.scope}, ledger.Page{}))(t)
		if diff := cmp.Diff(c.want, names(agents.Items, uid)); diff != "" {
			t.Errorf("agents of %+v (-want +got):\n%s", c.scope, diff)
		}
		runs := must(l.Runs(t.Context(), ledger.AgentFilter{Scope: c.scope}, ledger.Page{}))(t)
		calls := must(l.ModelCalls(t.Context(), ledger.CallFilter{Scope: c.scope}, ledger.Page{}))(t)
		usage := must(l.Usage(t.Context(), ledger.ReportQuery{Scope: c.scope}, ledger.Page{}))(t)
		tokens := int64(0)
		for _, u := range usage.Items {
			tokens += u.PromptTokens + u.CompletionTokens
		}
		if n := len(c.want); len(runs.Items) != n || len(calls.Items) != n || tokens != int64(10*n) {
			t.Errorf("%+v has %d runs, %d calls and %d tokens, want those of %d agents", c.scope, len(runs.Items), len(calls.Items), tokens, n)
		}
	}
	if call := must(l.ModelCall(t.Context(), "new/m"))(t); call.NamespaceUID != "uid-2" {
		t.Errorf("the call has the namespace UID %q", call.NamespaceUID)
	}
}

func testQuotaIsOfOneNamespace(t *testing.T, db Database) {
	l := db.Open(t)
	tenant(t, l, "old", "uid-1", 1)
	count := func(uid string, recount bool) int64 {
		request := hourly(at(20), 100, 0)
		request.NamespaceUID, request.Recount = uid, recount
		return reserve(t, l, request).Counts[0].Tokens
	}
	if got := count("uid-1", true); got != 10 {
		t.Errorf("the first namespace has used %d tokens, want 10", got)
	}
	if got := count("uid-2", false); got != 0 {
		t.Errorf("the recreated namespace has used %d tokens", got)
	}
	tenant(t, l, "new", "uid-2", 12)
	if got := count("uid-2", true); got != 10 {
		t.Errorf("the recreated namespace has used %d tokens, want its own 10", got)
	}
	if got := count("", false); got != 10 {
		t.Errorf("without a UID, %d tokens count", got)
	}
}

func output(key string, size, seconds int) ledger.ToolResult {
	return ledger.ToolResult{Key: key, Status: ledger.StatusSuccess, Output: bytes.Repeat([]byte("x"), size), FinishedAt: at(seconds)}
}

func testBytesAreCounted(t *testing.T, db Database) {
	l := db.Open(t)
	one, two := First(Agent("one"), 1), First(Agent("two"), 1)
	one.Create.NamespaceUID, two.Create.Namespace = "uid-1", "team-b"
	one.ToolCalls, one.ToolResults = []ledger.ToolCall{toolCall("one/t", "c", 1)}, []ledger.ToolResult{output("one/t", 100_000, 2)}
	Append(t, l, one, two)
	sizes := func() map[string]int64 {
		bytes := map[string]int64{}
		for _, b := range must(l.Bytes(t.Context()))(t) {
			bytes[b.Namespace+"/"+b.UID] = b.Bytes
		}
		return bytes
	}
	if got := sizes(); got["team-a/uid-1"] != int64(one.Size()) || got["team-b/"] != int64(two.Size()) {
		t.Errorf("the bytes are %v, want %d and %d", got, one.Size(), two.Size())
	}
	// a refused batch does not count
	if err := l.Append(t.Context(), ledger.Batch{Agent: "two", After: 7, Events: Events("two", 5)}); err == nil {
		t.Error("a stale batch was accepted")
	}
	must(l.PruneCalls(t.Context(), at(100), 0))(t)
	if got := sizes(); got["team-a/uid-1"] != int64(one.Size()-100_000) || got["team-b/"] != int64(two.Size()) {
		t.Errorf("after pruning the output, the bytes are %v", got)
	}
	Append(t, l, ledger.Batch{Agent: "one", After: 1, Events: Events("one", 1), Finish: &ledger.Finish{Status: ledger.StatusSuccess, At: at(5)}})
	must(l.Prune(t.Context(), at(100), 0))(t)
	if got := sizes(); len(got) != 1 {
		t.Errorf("after pruning the agent, the bytes are %v", got)
	}
}

func testCallsArePrunedByAge(t *testing.T, db Database) {
	l := db.Open(t)
	batch := First(Agent("live"), 1)
	batch.ModelCalls = []ledger.ModelCall{modelCall("live/old", 1), modelCall("live/new", 200), modelCall("live/open", 2)}
	old, young := modelDone("live/old", ledger.StatusSuccess, 3), modelDone("live/new", ledger.StatusSuccess, 201)
	old.Response, old.Summary, old.PromptTokens, old.CompletionTokens = json.RawMessage(`{"text":"secret"}`), "secret", ptr(int64(7)), ptr(int64(2))
	young.Response = json.RawMessage(`{}`)
	batch.ModelResults = []ledger.ModelResult{old, young}
	batch.ToolCalls = []ledger.ToolCall{toolCall("live/t1", "old", 1), toolCall("live/t2", "new", 200), toolCall("live/t3", "open", 1)}
	batch.ToolResults = []ledger.ToolResult{output("live/t1", 10, 2), output("live/t2", 10, 201)}
	Append(t, l, batch)
	if n := must(l.PruneCalls(t.Context(), at(100), 1))(t); n != 1 {
		t.Errorf("a step of one prunes %d calls", n)
	}
	if n := must(ledger.RetainCalls(t.Context(), l, at(100)))(t); n != 1 {
		t.Errorf("%d calls remain, want 1", n)
	}
	call := must(l.ModelCall(t.Context(), "live/old"))(t)
	if call.PrunedAt.IsZero() || call.Request != nil || call.Result.Response != nil || call.Result.Summary != "" || *call.Result.PromptTokens != 7 || call.Result.Status != ledger.StatusSuccess {
		t.Errorf("the old call is %+v with %+v", call, call.Result)
	}
	if call := must(l.ModelCall(t.Context(), "live/new"))(t); !call.PrunedAt.IsZero() || call.Request == nil || call.Result.Response == nil {
		t.Errorf("the new call is %+v", call)
	}
	if open := must(l.OpenCalls(t.Context(), "live"))(t); len(open.Models) != 1 || must(l.ModelCall(t.Context(), open.Models[0].Key))(t).Request == nil || len(open.Tools) != 1 {
		t.Errorf("open calls are %+v", open)
	}
	if _, err := l.ToolOutput(t.Context(), "live", "old", 0, 10); !errors.Is(err, ledger.ErrPruned) {
		t.Errorf("the old output: %v, want ErrPruned", err)
	}
	if part := must(l.ToolOutput(t.Context(), "live", "new", 0, 10))(t); part.Size != 10 {
		t.Errorf("the new output has %d bytes", part.Size)
	}
	if history := must(l.Load(t.Context(), "live"))(t); len(history.Events) != 1 {
		t.Errorf("%d events remain", len(history.Events))
	}
}
