// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/plainjson"
)

// longText returns text of some thousand bytes with everything that JSON escapes.
func longText(n int) string {
	return strings.Repeat(fmt.Sprintf("Line %d says \"<é>\" & \\ more\t\u2028.\n", n), 150)
}

func encoded(v any) json.RawMessage {
	data, err := plainjson.Marshal(v)
	if err != nil {
		panic(err) // Encoding maps and strings cannot fail.
	}
	return data
}

// textEvent returns an event that contains text.
func textEvent(text string, seconds int) ledger.Event {
	return ledger.Event{Type: "Heard", At: at(seconds), Data: encoded(map[string]string{"text": text})}
}

// bodies returns the bytes of all columns that may repeat text.
func (d Database) bodies(t testing.TB) (sum int64) {
	t.Helper()
	for _, query := range []string{
		`SELECT COALESCE(SUM(octet_length(CAST(data AS TEXT))), 0) FROM events`, `SELECT COALESCE(SUM(octet_length(CAST(data AS TEXT))), 0) FROM snapshots`,
		`SELECT COALESCE(SUM(octet_length(CAST(request AS TEXT)) + COALESCE(octet_length(CAST(response AS TEXT)), 0) + COALESCE(octet_length(CAST(tool_calls AS TEXT)), 0)), 0) FROM model_calls`,
		`SELECT COALESCE(SUM(octet_length(arguments) + COALESCE(length(output), 0)), 0) FROM tool_calls`,
	} {
		var n int64
		if err := d.Raw.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// repeatedText returns a batch that repeats text wherever possible.
func repeatedText(agent, text string, seconds int) ledger.Batch {
	batch := First(Agent(agent), 1)
	batch.Events = append(batch.Events, textEvent(text, seconds))
	call, result := modelCall(agent+"/m", seconds), modelDone(agent+"/m", ledger.StatusSuccess, seconds+1)
	call.Seq, call.Request = 2, encoded(map[string]any{"model": "small", "messages": []string{"short", text}})
	result.Response, result.ToolCalls = encoded(map[string]string{"text": text}), encoded([]map[string]string{{"arguments": text}})
	batch.ModelCalls, batch.ModelResults = []ledger.ModelCall{call}, []ledger.ModelResult{result}
	used := toolCall(agent+"/t", "call", seconds)
	used.Arguments = text
	batch.ToolCalls = []ledger.ToolCall{used}
	batch.ToolResults = []ledger.ToolResult{{Key: used.Key, Status: ledger.StatusSuccess, Output: []byte(text), FinishedAt: at(seconds + 1)}}
	batch.Snapshot = encoded(map[string]any{"messages": []string{text, "short"}})
	return batch
}

// wantRepeatedText checks that everything of a batch of repeatedText is read unchanged.
func wantRepeatedText(t testing.TB, l ledger.Ledger, b ledger.Batch) {
	t.Helper()
	call := must(l.ModelCall(t.Context(), b.ModelCalls[0].Key))(t)
	if !bytes.Equal(call.Request, b.ModelCalls[0].Request) {
		t.Errorf("the request is read as %s", call.Request)
	}
	if !bytes.Equal(call.Result.Response, b.ModelResults[0].Response) || !bytes.Equal(call.Result.ToolCalls, b.ModelResults[0].ToolCalls) {
		t.Errorf("the reply is read as %s with %s", call.Result.Response, call.Result.ToolCalls)
	}
	if listed := must(l.ModelCalls(t.Context(), ledger.CallFilter{Agent: b.Agent}, ledger.Page{}))(t).Items; len(listed) != 1 || !bytes.Equal(listed[0].Result.ToolCalls, b.ModelResults[0].ToolCalls) {
		t.Errorf("the list contains %+v", listed)
	}
	used, output := must(l.ToolCall(t.Context(), b.ToolCalls[0].Key))(t), b.ToolResults[0].Output
	if used.Arguments != b.ToolCalls[0].Arguments || !bytes.Equal(used.Result.Output, output) || used.Result.OutputSize != int64(len(output)) {
		t.Errorf("the tool call is read as %+v with %+v", used, used.Result)
	}
	if listed := must(l.ToolCalls(t.Context(), b.Agent, ledger.Page{}))(t).Items; len(listed) != 1 || listed[0].Arguments != b.ToolCalls[0].Arguments || listed[0].Result.OutputSize != int64(len(output)) {
		t.Errorf("the list contains %+v", listed)
	}
	for _, bounds := range [][2]int{{0, 10}, {100, 1000}, {len(output) - 5, 100}, {len(output) + 5, 10}} {
		part := must(l.ToolOutput(t.Context(), b.Agent, "call", int64(bounds[0]), bounds[1]))(t)
		want := output[min(bounds[0], len(output)):min(bounds[0]+bounds[1], len(output))]
		if !bytes.Equal(part.Data, want) || part.Size != int64(len(output)) {
			t.Errorf("the output at %d is %q of %d bytes, want %q", bounds[0], part.Data, part.Size, want)
		}
	}
	if history := must(l.Load(t.Context(), b.Agent))(t); !bytes.Equal(history.Snapshot.Data, b.Snapshot) {
		t.Errorf("the snapshot is read as %s", history.Snapshot.Data)
	}
}

func testTextsAreStoredOnce(t *testing.T, db Database) {
	text := longText(1)
	batch := repeatedText("a", text, 1)
	l := db.Open(t)
	Append(t, l, batch)
	if got, most := db.bodies(t), int64(len(encoded(text)))*13/10; got > most {
		t.Errorf("a text of %d bytes that is repeated seven times takes %d bytes, want at most %d", len(text), got, most)
	}
	wantRepeatedText(t, l, batch)
	wantRepeatedText(t, db.Open(t), batch)
}

// chainOf appends a conversation of an agent with one message per iteration. It returns the requests.
func chainOf(t testing.TB, l ledger.Ledger, agent string, turns int) []json.RawMessage {
	t.Helper()
	messages, requests := []string{"system"}, []json.RawMessage(nil)
	for i := range turns {
		text := longText(i)
		messages = append(messages, text)
		key := fmt.Sprintf("%s/m%d", agent, i)
		whole := encoded(map[string]any{"messages": messages, "tools": strings.Repeat("tool ", 500), "z": key})
		call := modelCall(key, 10*i)
		call.Seq, call.Chain, call.Place, call.Request = int64(i+1), 1, i, whole
		if i > 0 {
			edit, ok := Compare(requests[i-1], whole)
			if !ok {
				t.Fatal("a continued conversation is no edit")
			}
			call.Request = edit.Encode()
		}
		batch := ledger.Batch{Agent: agent, After: int64(i), Events: []ledger.Event{textEvent(text, 10*i)}, ModelCalls: []ledger.ModelCall{call},
			ModelResults: []ledger.ModelResult{modelDone(key, ledger.StatusSuccess, 10*i+5)}}
		if i == 0 {
			record := Agent(agent)
			batch.Create = &record
		}
		Append(t, l, batch)
		requests = append(requests, whole)
	}
	return requests
}

func testRequestsOfAChain(t *testing.T, db Database) {
	const turns = 20
	l := db.Open(t)
	requests := chainOf(t, l, "a", turns)
	for _, reader := range []ledger.Ledger{l, db.Open(t)} {
		for i, want := range requests {
			call := must(reader.ModelCall(t.Context(), fmt.Sprintf("a/m%d", i)))(t)
			if !bytes.Equal(call.Request, want) {
				t.Fatalf("request %d is read with %d bytes as %.300s..., want %d as %.300s...", i, len(call.Request), call.Request, len(want), want)
			}
		}
	}
	unique := int64(0)
	for i := range turns {
		unique += int64(len(encoded(longText(i))))
	}
	if got := db.bodies(t); got > unique*13/10 {
		t.Errorf("a conversation of %d bytes takes %d, want at most 1.3 times as many", unique, got)
	}
}

// testDuplicateColumnsAreStoredOnce appends a reply with tool calls, a request that ends with the key of its call, and some that
// only look like these.
func testDuplicateColumnsAreStoredOnce(t *testing.T, db Database) {
	l := db.Open(t)
	calls := encoded([]map[string]string{{"id": "call_1", "name": "search_the_archive", "arguments": `{"words":"two of them"}`}})
	replies := map[string]json.RawMessage{
		"a/m0": encoded(map[string]any{"id": "1", "toolCalls": calls, "usage": 1}),
		"a/m1": encoded(map[string]any{"id": "2", "toolCalls": []json.RawMessage{json.RawMessage(`{"toolCalls":` + string(calls) + `}`)}}),
		"a/m2": encoded(map[string]any{"toolCalls": json.RawMessage(`{"$calls":0}`), "x": map[string]any{"toolCalls": calls}}),
		"a/m3": encoded(map[string]any{"text": `"toolCalls":` + string(calls)}),
	}
	whole := []json.RawMessage{
		encoded(map[string]any{"messages": []string{"system"}, "z": "a/m0"}),
		json.RawMessage(`{"messages":["system"],"z":"a/m1"}`),
		json.RawMessage(`{"messages":["system"],"z":0,0]`), // not JSON, with an ending that an edit cannot have
		json.RawMessage(`{"messages":["system"],"z":"a/m3"}`),
	}
	requests := []json.RawMessage{whole[0], json.RawMessage(`[[0,27],"\"a/m1\"}"]`), json.RawMessage(`[[0,27],"0,0]"]`), json.RawMessage(`[[0,27],"\"a/m3\"}"]`)}
	for i := range requests {
		key := fmt.Sprintf("a/m%d", i)
		call, result := modelCall(key, 10*i), modelDone(key, ledger.StatusSuccess, 10*i+5)
		call.Seq, call.Chain, call.Place, call.Request = int64(i+1), 1, i, requests[i]
		result.Response, result.ToolCalls = replies[key], calls
		batch := ledger.Batch{Agent: "a", After: int64(i), Events: []ledger.Event{textEvent("more", 10*i)}, ModelCalls: []ledger.ModelCall{call}, ModelResults: []ledger.ModelResult{result}}
		if i == 0 {
			record := Agent("a")
			batch.Create = &record
		}
		Append(t, l, batch)
	}
	for i, want := range whole {
		key := fmt.Sprintf("a/m%d", i)
		call := must(l.ModelCall(t.Context(), key))(t)
		if !bytes.Equal(call.Request, want) || !bytes.Equal(call.Result.Response, replies[key]) || !bytes.Equal(call.Result.ToolCalls, calls) {
			t.Errorf("%s is read as\n%s\n%s\n%s, want\n%s\n%s\n%s", key, call.Request, call.Result.Response, call.Result.ToolCalls, want, replies[key], calls)
		}
	}
	var request, response string
	if err := db.Raw.QueryRowContext(t.Context(), `SELECT CAST(request AS TEXT), CAST(response AS TEXT) FROM model_calls WHERE key = 'a/m1'`).Scan(&request, &response); err != nil {
		t.Fatal(err)
	}
	if request != "[[0,27],0]" {
		t.Errorf("the request contains the key too: %s", request)
	}
	if err := db.Raw.QueryRowContext(t.Context(), `SELECT CAST(response AS TEXT) FROM model_calls WHERE key = 'a/m0'`).Scan(&response); err != nil || strings.Contains(response, "archive") {
		t.Errorf("the response contains the tool calls too: %s (%v)", response, err)
	}
}

func testChainIsDeletedWithItsLastRequest(t *testing.T, db Database) {
	l := db.Open(t)
	requests := chainOf(t, l, "a", 4)
	if n := must(ledger.RetainCalls(t.Context(), l, at(28)))(t); n != 3 {
		t.Errorf("%d calls were pruned, want the 3 old ones", n)
	}
	if call := must(l.ModelCall(t.Context(), "a/m1"))(t); call.Request != nil || call.PrunedAt.IsZero() {
		t.Errorf("an old call still has its request: %+v", call)
	}
	if call := must(l.ModelCall(t.Context(), "a/m3"))(t); !bytes.Equal(call.Request, requests[3]) {
		t.Errorf("the newest request is read as %.300s", call.Request)
	}
	must(ledger.RetainCalls(t.Context(), l, at(100)))(t)
	if n := must(l.PruneCalls(t.Context(), at(100), 0))(t); n != 0 {
		t.Errorf("%d calls are pruned a second time", n)
	}
	var left int
	if err := db.Raw.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM model_calls WHERE CAST(request AS TEXT) <> 'null'`).Scan(&left); err != nil || left > 0 {
		t.Errorf("%d requests of an unreadable chain remain (%v)", left, err)
	}
}

// testRecentChainIsKept prunes a request that the conversation may still continue, whatever the retention is: its body cannot be
// read any more, but its bytes are deleted later.
func testRecentChainIsKept(t *testing.T, db Database) {
	l := db.Open(t)
	requests := chainOf(t, l, "a", 2)
	db.Exec(t, fmt.Sprintf(`UPDATE model_call_rows SET started_at = %d WHERE key = 'a/m1'`, time.Now().UnixMicro()))
	must(ledger.RetainCalls(t.Context(), l, at(100)))(t)
	if call := must(l.ModelCall(t.Context(), "a/m1"))(t); call.PrunedAt.IsZero() || call.Request != nil {
		t.Errorf("the request of a pruned call can be read: %+v", call)
	}
	messages := []string{"system", longText(0), longText(1), "more"}
	whole := encoded(map[string]any{"messages": messages, "tools": strings.Repeat("tool ", 500), "z": "a/m2"})
	edit, _ := Compare(requests[1], whole)
	call := modelCall("a/m2", 30)
	call.Seq, call.Chain, call.Place, call.Request = 3, 1, 2, edit.Encode()
	Append(t, l, ledger.Batch{Agent: "a", After: 2, Events: Events("a", 1), ModelCalls: []ledger.ModelCall{call}})
	if got := must(l.ModelCall(t.Context(), "a/m2"))(t); !bytes.Equal(got.Request, whole) {
		t.Errorf("the next request is read as %.200s", got.Request)
	}
}

func testDamageAffectsOneRowOnly(t *testing.T, db Database) {
	l := db.Open(t)
	good, bad := repeatedText("good", longText(1), 1), repeatedText("bad", longText(2), 1)
	Append(t, l, good, bad)
	db.Exec(t, `UPDATE event_rows SET data = '{}' WHERE agent = (SELECT id FROM agents WHERE uid = 'bad')`)
	call := must(l.ModelCall(t.Context(), "bad/m"))(t)
	if want := `"(unreadable)"`; string(call.Request) != want || string(call.Result.Response) != want {
		t.Errorf("a damaged request reads as %s, and the reply as %s", call.Request, call.Result.Response)
	}
	used := must(l.ToolCall(t.Context(), "bad/t"))(t)
	if used.Arguments != "(unreadable)" || string(used.Result.Output) != "(unreadable)" {
		t.Errorf("a damaged tool call reads as %+v with %s", used, used.Result.Output)
	}
	if history := must(l.Load(t.Context(), "bad"))(t); string(history.Snapshot.Data) != `"(unreadable)"` {
		t.Errorf("a damaged snapshot reads as %s", history.Snapshot.Data)
	}
	wantRepeatedText(t, l, good)
}

// testRecreatedAgentReusesNoTexts deletes an agent in another process while this one still has its texts in the cache.
func testRecreatedAgentReusesNoTexts(t *testing.T, db Database) {
	l, other := db.Open(t), db.Open(t)
	text := longText(1)
	Append(t, l, ledger.Batch{Agent: "a", Create: ptr(Agent("a")), Events: []ledger.Event{textEvent(text, 1)}})
	Append(t, other, ledger.Batch{Agent: "a", After: 1, Events: Events("a", 1), Finish: &ledger.Finish{Status: ledger.StatusSuccess, At: at(2)}})
	must(ledger.Retain(t.Context(), other, at(100)))(t)
	call := modelCall("a/m", 3)
	call.Request = encoded([]string{text})
	Append(t, l, ledger.Batch{Agent: "a", Create: ptr(Agent("a")), Events: Events("a", 1), ModelCalls: []ledger.ModelCall{call}})
	if got := must(l.ModelCall(t.Context(), "a/m"))(t); !bytes.Equal(got.Request, call.Request) {
		t.Errorf("the request is read as %.200s", got.Request)
	}
}

// testRefusedAppendAddsNoTexts checks that later appends do not refer to texts of a refused one, which are not in the ledger.
func testRefusedAppendAddsNoTexts(t *testing.T, db Database) {
	l := db.Open(t)
	Append(t, l, First(Agent("a"), 1))
	text := longText(1)
	if err := l.Append(t.Context(), ledger.Batch{Agent: "a", After: 7, Events: []ledger.Event{textEvent(text, 1)}}); err == nil {
		t.Fatal("a stale batch was accepted")
	}
	call := modelCall("a/m", 2)
	call.Request = encoded([]string{text})
	Append(t, l, ledger.Batch{Agent: "a", After: 1, Events: Events("a", 1), ModelCalls: []ledger.ModelCall{call}})
	if got := must(l.ModelCall(t.Context(), "a/m"))(t); !bytes.Equal(got.Request, call.Request) {
		t.Errorf("the request is read as %.200s", got.Request)
	}
}
