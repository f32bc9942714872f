// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/money"
)

func testModelCallKeepsEveryColumn(t *testing.T, db Database) {
	l := db.Open(t)
	agent := Agent("a")
	agent.Root, agent.Parent, agent.Depth = "root", "parent", 2
	call := ledger.ModelCall{
		Key: "a/1/0", Parent: "parent/4/0", Seq: 1, Iteration: 3, Provider: "openai", Model: "gpt", RequestType: "Continuation",
		SystemPrompt: "coder@3", ContextMode: "Summary", ContextTokens: ptr(int64(1200)), Request: json.RawMessage(`{"messages": []}`),
		MaxIterations: 20, MaxDuration: 300 * time.Second, StartedAt: at(1), Files: []string{"a.go", "b c.go"},
	}
	result := ledger.ModelResult{
		Key: call.Key, Status: ledger.StatusFailed, Sent: json.RawMessage(`{"model": "gpt"}`), Response: json.RawMessage(`{"choices": []}`), Summary: "Did it.",
		ToolCalls: json.RawMessage(`[{"id": "call_0"}]`), PromptTokens: ptr(int64(100)),
		CachedTokens: ptr(int64(40)), CompletionTokens: ptr(int64(7)), ReasoningTokens: ptr(int64(3)), CostMicros: ptr(int64(1234)), Currency: "EUR", Bailout: "IterationLimit",
		Error: "stopped", FinishedAt: at(5),
	}
	batch := First(agent, 1)
	batch.ModelCalls = []ledger.ModelCall{call}
	Append(t, l, batch)

	want := call
	want.Agent, want.Namespace, want.Root, want.Chat, want.Role, want.Depth = "a", agent.Namespace, "root", agent.Chat, agent.Role, 2
	if diff := cmp.Diff(want, must(l.ModelCall(t.Context(), call.Key))(t)); diff != "" {
		t.Errorf("intent (-want +got):\n%s", diff)
	}
	served := result // served by a fallback
	served.Provider, served.Model = "spare", "gpt-small"
	Append(t, l, ledger.Batch{Agent: "a", After: 1, Events: Events("a", 1), ModelResults: []ledger.ModelResult{served}})
	want.Provider, want.Model, want.Result = "spare", "gpt-small", &result
	if diff := cmp.Diff(want, must(l.ModelCall(t.Context(), call.Key))(t)); diff != "" {
		t.Errorf("with its result (-want +got):\n%s", diff)
	}
	want.Request, want.Result.Response = nil, nil
	if diff := cmp.Diff([]ledger.ModelCall{want}, must(l.ModelCalls(t.Context(), ledger.CallFilter{}, ledger.Page{}))(t).Items); diff != "" {
		t.Errorf("in a list, without bodies (-want +got):\n%s", diff)
	}
	var total, duration int64
	if err := db.Raw.QueryRowContext(t.Context(), `SELECT total_tokens, duration FROM model_calls`).Scan(&total, &duration); err != nil {
		t.Fatal(err)
	}
	if total != 107 || duration != 4_000_000 {
		t.Errorf("total_tokens %d and duration %d, want 107 and 4000000", total, duration)
	}
}

func testRequestIsKeptByteForByte(t *testing.T, db Database) {
	l := db.Open(t)
	// A JSON type would normalise order, repetition, spaces, escapes and large numbers.
	request := json.RawMessage("{\"z\":1,  \"a\": [1.0, 1e2, 12345678901234567890],\n\t\"a\": \"\\u00e9 \\u0000 é \\/\"}")
	large := json.RawMessage(`"` + string(bytes.Repeat([]byte("漢字 "), 200_000)) + `"`)
	batch := First(Agent("a"), 1)
	for key, body := range map[string]json.RawMessage{"odd": request, "large": large} {
		call := modelCall(key, 1)
		call.Request = body
		batch.ModelCalls = append(batch.ModelCalls, call)
		batch.ModelResults = append(batch.ModelResults, ledger.ModelResult{
			Key: key, Status: ledger.StatusSuccess, Response: body, FinishedAt: at(2),
		})
	}
	Append(t, l, batch)
	for key, body := range map[string]json.RawMessage{"odd": request, "large": large} {
		got := must(l.ModelCall(t.Context(), key))(t)
		if !bytes.Equal(got.Request, body) || !bytes.Equal(got.Result.Response, body) {
			t.Errorf("%s: the request or the response was changed", key)
		}
	}
}

func testUnknownUsageIsNotZero(t *testing.T, db Database) {
	l := db.Open(t)
	batch := First(Agent("a"), 1)
	for key, cost := range map[string]*int64{"unknown": nil, "free": ptr(int64(0)), "paid": ptr(int64(70))} {
		batch.ModelCalls = append(batch.ModelCalls, modelCall(key, 1))
		result := modelDone(key, ledger.StatusSuccess, 2)
		result.CostMicros, result.PromptTokens, result.CompletionTokens = cost, cost, cost
		batch.ModelResults = append(batch.ModelResults, result)
	}
	batch.ModelCalls = append(batch.ModelCalls, modelCall("running", 1))
	Append(t, l, batch)

	if got := must(l.ModelCall(t.Context(), "unknown"))(t).Result; got.CostMicros != nil || got.PromptTokens != nil {
		t.Errorf("unknown usage is read as %v", got)
	}
	if got := must(l.ModelCall(t.Context(), "free"))(t).Result.CostMicros; got == nil || *got != 0 {
		t.Errorf("a price of 0 is read as %v", got)
	}
	usage := usageByGroup(must(l.Usage(t.Context(), ledger.ReportQuery{}, ledger.Page{}))(t).Items)[0]
	want := ledger.CallTotals{
		Tally:        ledger.Tally{Total: 4, Running: 1, Succeeded: 3, TotalDuration: 3 * time.Second, MaxDuration: time.Second},
		PromptTokens: 70, CompletionTokens: 70, UnknownTokenCalls: 1, Costs: money.Sums{"": 70}, UnknownCostCalls: 1,
	}
	if diff := cmp.Diff(want, usage.CallTotals); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

func testOpenCallsAreVisible(t *testing.T, db Database) {
	l := db.Open(t)
	batch := First(Agent("a"), 1)
	batch.ModelCalls = []ledger.ModelCall{modelCall("m1", 1), modelCall("m2", 2)}
	batch.ToolCalls = []ledger.ToolCall{toolCall("t1", "call_0", 3), toolCall("t2", "call_1", 4)}
	batch.ToolCalls[1].Repeatable = true
	other := First(Agent("b"), 1)
	other.ModelCalls = []ledger.ModelCall{modelCall("m3", 1)}
	Append(t, l, batch, other, ledger.Batch{
		Agent: "a", After: 1, Events: Events("a", 1), ModelResults: []ledger.ModelResult{modelDone("m1", ledger.StatusSuccess, 5)},
		ToolResults: []ledger.ToolResult{{Key: "t1", Status: ledger.StatusUnknown, Error: "the operator was restarted", FinishedAt: at(6)}},
	})

	open := must(l.OpenCalls(t.Context(), "a"))(t)
	if len(open.Models) != 1 || open.Models[0].Key != "m2" || open.Models[0].Request != nil || open.Models[0].Result != nil {
		t.Errorf("open model calls: %+v, want m2 without its request", open.Models)
	}
	if len(open.Tools) != 1 || open.Tools[0].Key != "t2" || !open.Tools[0].Repeatable || open.Tools[0].Result != nil {
		t.Errorf("open tool calls: %+v, want t2, which is repeatable", open.Tools)
	}
	if got := must(l.ToolCall(t.Context(), "t1"))(t); got.Repeatable || got.Result == nil || got.Result.Status != ledger.StatusUnknown {
		t.Errorf("tool call t1: %+v, want status unknown", got)
	}
	// A late result needs no event.
	Append(t, l, ledger.Batch{Agent: "a", After: 2, ModelResults: []ledger.ModelResult{modelDone("m2", ledger.StatusCancelled, 7)}})
	if open := must(l.OpenCalls(t.Context(), "a"))(t); len(open.Models) != 0 {
		t.Errorf("open model calls after the late result: %+v", open.Models)
	}
}

func testDecisionsAreKept(t *testing.T, db Database) {
	l := db.Open(t)
	batch := First(Agent("a"), 1)
	approved, denied := toolCall("t1", "call_0", 3), toolCall("t2", "call_1", 4)
	approved.Decision, approved.DecidedBy = ledger.DecisionApprove, "alice"
	denied.Decision, denied.DecidedBy = ledger.DecisionDeny, "bob"
	batch.ToolCalls = []ledger.ToolCall{approved, denied, toolCall("t3", "call_2", 5)}
	batch.ToolResults = []ledger.ToolResult{{Key: "t2", Status: ledger.StatusDenied, FinishedAt: at(6)}}
	Append(t, l, batch)

	for key, want := range map[string]string{"t1": "Approve alice", "t2": "Deny bob", "t3": " "} {
		if got := must(l.ToolCall(t.Context(), key))(t); string(got.Decision)+" "+got.DecidedBy != want {
			t.Errorf("%s: %q by %q, want %q", key, got.Decision, got.DecidedBy, want)
		}
	}
	if got := must(l.ToolCalls(t.Context(), "a", ledger.Page{}))(t).Items; len(got) != 3 || got[1].DecidedBy != "bob" || got[1].Result.Status != ledger.StatusDenied {
		t.Errorf("in a list: %+v", got)
	}
}

func testModelCallsByFilter(t *testing.T, db Database) {
	l := db.Open(t)
	batch := First(Agent("a"), 1)
	child := modelCall("m2", 2)
	child.Parent = "m1"
	batch.ModelCalls = []ledger.ModelCall{modelCall("m1", 1), child, modelCall("m3", 3)}
	batch.ModelResults = []ledger.ModelResult{modelDone("m3", ledger.StatusFailed, 4)}
	Append(t, l, batch)
	for name, test := range map[string]struct {
		filter ledger.CallFilter
		want   []string
	}{
		"all":     {ledger.CallFilter{}, []string{"m1", "m2", "m3"}},
		"agent":   {ledger.CallFilter{Agent: "b"}, []string{}},
		"parent":  {ledger.CallFilter{Parent: "m1"}, []string{"m2"}},
		"status":  {ledger.CallFilter{Status: ledger.StatusFailed}, []string{"m3"}},
		"running": {ledger.CallFilter{Status: ledger.StatusRunning}, []string{"m1", "m2"}},
		"since":   {ledger.CallFilter{Scope: ledger.Scope{Since: at(2), Until: at(3)}}, []string{"m2"}},
	} {
		got := pages(t, 1, func(p ledger.Page) (ledger.List[ledger.ModelCall], error) {
			return l.ModelCalls(t.Context(), test.filter, p)
		})
		if diff := cmp.Diff(test.want, names(got, func(c ledger.ModelCall) string { return c.Key })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func testToolOutputIsReadInParts(t *testing.T, db Database) {
	l := db.Open(t)
	output := append([]byte("\x00\xff\xfe binary, then text: "), bytes.Repeat([]byte("0123456789"), 1000)...)
	batch := First(Agent("a"), 1)
	// The model has used the id call_0 twice: the newest call is found.
	batch.ToolCalls = []ledger.ToolCall{toolCall("t1", "call_0", 1), toolCall("t2", "call_0", 2), toolCall("t3", "empty", 3), toolCall("t4", "open", 4)}
	batch.ToolResults = []ledger.ToolResult{
		{Key: "t1", Status: ledger.StatusSuccess, Output: []byte("old"), FinishedAt: at(3)},
		{Key: "t2", Status: ledger.StatusSuccess, Output: output, FinishedAt: at(3)},
		{Key: "t3", Status: ledger.StatusSuccess, FinishedAt: at(4)},
	}
	Append(t, l, batch)

	var got []byte
	for offset := int64(0); ; {
		part := must(l.ToolOutput(t.Context(), "a", "call_0", offset, 999))(t)
		if part.Size != int64(len(output)) {
			t.Fatalf("size %d, want %d", part.Size, len(output))
		}
		if len(part.Data) == 0 {
			break
		}
		got = append(got, part.Data...)
		offset += int64(len(part.Data))
	}
	if !bytes.Equal(got, output) {
		t.Errorf("the parts have %d bytes and differ from the output of %d", len(got), len(output))
	}
	if part := must(l.ToolOutput(t.Context(), "a", "empty", 0, 10))(t); part.Size != 0 || len(part.Data) != 0 {
		t.Errorf("an empty output gave %v", part)
	}
	if _, err := l.ToolOutput(t.Context(), "a", "open", 0, 10); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("the output of a running call: %v, want ErrNotFound", err)
	}
	if _, err := l.ToolOutput(t.Context(), "a", "call_0", -1, 10); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("a negative offset: %v, want ErrInvalid", err)
	}
	if whole := must(l.ToolCall(t.Context(), "t2"))(t); !bytes.Equal(whole.Result.Output, output) {
		t.Error("the call has a different output")
	}
	calls := must(l.ToolCalls(t.Context(), "a", ledger.Page{Limit: 3}))(t)
	if len(calls.Items) != 3 || calls.Items[1].Result.Output != nil || calls.Items[1].Result.OutputSize != int64(len(output)) {
		t.Errorf("listed calls %+v, want three with sizes and without outputs", calls.Items)
	}
	if rest := must(l.ToolCalls(t.Context(), "a", ledger.Page{Limit: 3, Cursor: calls.Next}))(t); len(rest.Items) != 1 || rest.Next != "" {
		t.Errorf("second page %+v, want the one remaining call", rest)
	}
}

// testUnusualTextIsAccepted appends text that broken providers and tools send: it must not block an agent.
func testUnusualTextIsAccepted(t *testing.T, db Database) {
	l := db.Open(t)
	odd := "nul \x00, not UTF-8 \xff\xc3\x28, \u2028 and 🙂 '; DROP TABLE events; --"
	batch := First(Agent("a"), 1)
	batch.ToolCalls = []ledger.ToolCall{{Key: "t", CallID: odd, Tool: odd, Arguments: odd, StartedAt: at(1)}}
	batch.ToolResults = []ledger.ToolResult{{Key: "t", Status: ledger.StatusFailed, Output: []byte(odd), Error: odd, FinishedAt: at(2)}}
	batch.ModelCalls = []ledger.ModelCall{modelCall("m", 1)}
	batch.ModelCalls[0].Files = []string{odd}
	batch.ModelResults = []ledger.ModelResult{{Key: "m", Status: ledger.StatusFailed, Error: odd, Summary: odd, FinishedAt: at(2)}}
	Append(t, l, batch)
	const kept = "nul \uFFFD, not UTF-8 \uFFFD(, \u2028 and 🙂 '; DROP TABLE events; --"
	tool := must(l.ToolCall(t.Context(), "t"))(t)
	if tool.Arguments != kept || tool.Result.Error != kept {
		t.Errorf("arguments %q and error %q, want %q", tool.Arguments, tool.Result.Error, kept)
	}
	if string(tool.Result.Output) != odd {
		t.Errorf("output %q, want it unchanged", tool.Result.Output)
	}
	if part := must(l.ToolOutput(t.Context(), "a", odd, 0, 1000))(t); string(part.Data) != odd {
		t.Errorf("output by the unusual id %q, want it unchanged", part.Data)
	}
	if got := must(l.ModelCall(t.Context(), "m"))(t).Result.Error; got != kept {
		t.Errorf("model error %q, want %q", got, kept)
	}
}
