// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

func TestRunWithInterrupts(t *testing.T) {
	a := flow()
	_, first := post(t, a, request("r1", nil))
	finished := find(first, typeRunFinished)
	if reason := at(t, finished, "outcome", "interrupts", 0, "reason"); reason != reasonQuestion || at(t, finished, "outcome", "interrupts", 0, "message") != "Which colour?" {
		t.Errorf("%v", finished)
	}
	if text := find(first, typeTextContent); text["delta"] != "I ask." || find(first, typeReasoningContent)["delta"] != "I need a colour." {
		t.Errorf("%v", first)
	}
	if state := find(first, typeState)["snapshot"]; at(t, state, "theme") != "dark" || at(t, state, "nestor", "task") != "coder-0" {
		t.Errorf("state %v", state)
	}
	if used := at(t, finished, "usage", 0, "totalTokens"); used != 20.0 {
		t.Errorf("usage %v", used)
	}

	_, second := post(t, a, request("r2", resume(interruptIn(t, first), statusResolved, map[string]any{"answer": "Green"})))
	if result := find(second, typeToolResult); result["content"] != "Green" || result["toolCallId"] != "coder-0/q" || find(second, typeTextContent) != nil {
		t.Errorf("%v", second)
	}
	approval := at(t, find(second, typeRunFinished), "outcome", "interrupts", 0)
	if at(t, approval, "reason") != reasonApproval || at(t, approval, "metadata", "tool") != "paint" || at(t, approval, "toolCallId") != "coder-0/p" ||
		!strings.Contains(at(t, approval, "message").(string), "Required by policy team/paint") {
		t.Errorf("%v", approval)
	}
	if suspended := find(second, typeSubagentFinished); at(t, suspended, "outcome", "type") != outcomeSuspended {
		t.Errorf("%v", suspended)
	}

	_, third := post(t, a, request("r3", resume(interruptIn(t, second), statusResolved, map[string]any{"approved": true, "comment": "nice"})))
	finished = find(third, typeRunFinished)
	if at(t, finished, "outcome", "type") != outcomeSuccess || at(t, finished, "result", "summary") != "It is green." || at(t, finished, "usage", 0, "totalTokens") != 20.0 {
		t.Errorf("%v", finished)
	}
	if !slices.Equal(a.replies, []string{"Green", "true nice"}) || len(a.tasks) != 1 {
		t.Errorf("replies %q, %d tasks", a.replies, len(a.tasks))
	}
	if text := replay(t, third); text != "It is green." {
		t.Errorf("the client shows %q", text)
	}
}

// TestClientsWithoutInterrupts reads the question and the approval as messages, and replies with messages.
func TestClientsWithoutInterrupts(t *testing.T) {
	a := flow()
	old := func(run string, messages ...any) map[string]any {
		return request(run, map[string]any{"protocolVersion": "", "messages": append([]any{map[string]any{"id": "m1", "role": "user", "content": "Paint it"}}, messages...)})
	}
	shown := func(events []received) (id, text string) {
		for _, e := range events {
			if name, _ := e["messageId"].(string); e["type"] == typeTextContent && strings.HasPrefix(name, askPrefix) {
				return name, e["delta"].(string)
			}
		}
		t.Fatalf("nothing is shown: %v", events)
		return "", ""
	}
	_, events := post(t, a, old("r1"))
	question, text := shown(events)
	if text != "Which colour?" {
		t.Errorf("the question is %q", text)
	}
	questionMessage := map[string]any{"id": question, "role": "assistant", "content": text}
	_, events = post(t, a, old("r2", questionMessage, map[string]any{"id": "m2", "role": "user", "content": "Green"}))
	approval, text := shown(events)
	if !strings.Contains(text, "paint") || !strings.Contains(text, "Required by policy team/paint") {
		t.Errorf("the approval is %q", text)
	}
	answered := map[string]any{"id": "m2", "role": "user", "content": "Green"}
	needed := map[string]any{"id": approval, "role": "assistant", "content": text}
	_, events = post(t, a, old("r3", questionMessage, answered, needed, map[string]any{"id": "m3", "role": "user", "content": "approve"}))
	if at(t, find(events, typeRunFinished), "outcome", "type") != outcomeSuccess || len(a.replies) != 2 || a.replies[0] != "Green" {
		t.Errorf("%v, replies %q", events, a.replies)
	}
	_, events = post(t, flow(), request("r1", nil))
	for _, e := range events {
		if id, _ := e["messageId"].(string); strings.HasPrefix(id, askPrefix) {
			t.Errorf("a client that supports interrupts received a message: %v", e)
		}
	}
}

// replay returns the text of the assistant's messages as a client shows them.
func replay(t *testing.T, events []received) string {
	t.Helper()
	shown := map[string]string{}
	var order []string
	for _, e := range events {
		id, _ := e["messageId"].(string)
		switch e["type"] {
		case typeTextStart:
			order = append(order, id)
		case typeTextContent:
			shown[id] += e["delta"].(string)
		case typeMessages:
			valid := map[string]bool{}
			for i := range e["messages"].([]any) {
				valid[at(t, e, "messages", i, "id").(string)] = true
			}
			order = slices.DeleteFunc(order, func(id string) bool { return !valid[id] })
		}
	}
	text := ""
	for _, id := range order {
		text += shown[id]
	}
	return text
}

func TestRepeatedRunIsTheSame(t *testing.T) {
	a := flow()
	_, first := post(t, a, request("r1", nil))
	_, again := post(t, a, request("r1", nil))
	if len(a.tasks) != 1 || !slices.Equal(types(first), types(again)) || interruptIn(t, first) != interruptIn(t, again) {
		t.Errorf("%d tasks; %v; %v", len(a.tasks), types(first), types(again))
	}
	code, refused := post(t, a, request("r1", map[string]any{"messages": []any{map[string]any{"id": "m1", "role": "user", "content": "Burn it"}}}))
	if code != http.StatusConflict {
		t.Errorf("%d %v", code, refused)
	}
	answer := request("r2", resume(interruptIn(t, first), statusResolved, "Green"))
	_, second := post(t, a, answer)
	_, second2 := post(t, a, answer)
	if len(a.replies) != 1 || !slices.Equal(types(second), types(second2)) {
		t.Errorf("replies %q; %v; %v", a.replies, types(second), types(second2))
	}
}

// TestStaleResume resumes an interrupt that another person has answered, or whose call has other arguments now.
func TestStaleResume(t *testing.T) {
	const unused = "This reply was not used"
	a := flow()
	_, first := post(t, a, request("r1", nil))
	question := interruptIn(t, first)
	if err := a.reply("Green", "elsewhere"); err != nil {
		t.Fatal(err)
	}
	a.tasks[0].Status.Phase = v1beta1.TaskWaiting
	_, second := post(t, a, request("r2", resume(question, statusResolved, map[string]any{"answer": "Red"})))
	if text := replay(t, second); !strings.HasPrefix(text, unused) || !slices.Equal(a.replies, []string{"Green"}) {
		t.Errorf("the client shows %q; replies %q", text, a.replies)
	}
	shown := interruptIn(t, second)
	for _, e := range a.history {
		if e.Kind == run.Waiting && e.Ask.IsApproval() {
			e.Ask.Arguments, e.Ask.Digest = `{"colour":"black"}`, "another"
		}
	}
	_, third := post(t, a, request("r3", resume(shown, statusResolved, map[string]any{"approved": true})))
	if text := replay(t, third); !strings.HasPrefix(text, unused) || len(a.replies) != 1 || interruptIn(t, third) == shown {
		t.Errorf("the client shows %q; replies %q", text, a.replies)
	}
	post(t, a, request("r4", resume(shown, statusCancelled, nil)))
	if len(a.replies) != 1 {
		t.Errorf("a dismissed interrupt that is no longer open: replies %q", a.replies)
	}
	post(t, a, request("r5", resume(interruptIn(t, third), statusResolved, map[string]any{"approved": true})))
	if !slices.Equal(a.replies, []string{"Green", "true"}) {
		t.Errorf("replies %q", a.replies)
	}
}

func TestThreadContinues(t *testing.T) {
	a := flow()
	a.history = a.history[:1]
	post(t, a, request("r1", nil))
	post(t, a, request("r2", nil))
	post(t, a, request("r3", map[string]any{"threadId": "t2"}))
	if len(a.tasks) != 3 || a.tasks[1].Spec.ContinueFrom != "coder-0" || a.tasks[2].Spec.ContinueFrom != "" {
		t.Errorf("%+v", a.tasks)
	}
	if a.keys[0] == a.keys[1] || a.keys[1] == a.keys[2] {
		t.Errorf("keys %q", a.keys)
	}
}

func TestMessageOnThreadThatWaits(t *testing.T) {
	a := flow()
	_, first := post(t, a, request("r1", nil))
	_, second := post(t, a, request("r2", nil))
	if len(a.tasks) != 1 || interruptIn(t, first) != interruptIn(t, second) {
		t.Errorf("%d tasks", len(a.tasks))
	}
	a.tasks[0].Status.Phase = v1beta1.TaskRunning
	if code, refused := post(t, a, request("r3", nil)); code != http.StatusConflict {
		t.Errorf("%d %v", code, refused)
	}
}

func TestDismissedInterrupts(t *testing.T) {
	a := flow()
	_, first := post(t, a, request("r1", nil))
	post(t, a, request("r2", resume(interruptIn(t, first), statusCancelled, nil)))
	a2 := flow()
	a2.history = slices.Delete(a2.history, 2, 3)
	_, first = post(t, a2, request("r1", nil))
	post(t, a2, request("r2", resume(interruptIn(t, first), statusCancelled, nil)))
	if !slices.Equal(a.replies, []string{"cancel coder-0"}) || !slices.Equal(a2.replies, []string{"false The request was dismissed."}) {
		t.Errorf("%q %q", a.replies, a2.replies)
	}
}

func TestEnds(t *testing.T) {
	for phase, want := range map[v1beta1.TaskPhase]string{v1beta1.TaskCancelled: typeRunFinished, v1beta1.TaskFailed: typeRunError} {
		a := &agents{phase: phase, history: flow().history[4:5]}
		_, events := post(t, a, request("r1", nil))
		last := events[len(events)-1]
		if last["type"] != want || (want == typeRunFinished && at(t, last, "outcome", "type") != outcomeCancelled) || (want == typeRunError && last["message"] != "out of paint") {
			t.Errorf("%v", last)
		}
		if find(events, typeToolResult) == nil {
			t.Error("a call without a result looks like a call for the client")
		}
	}
}

func TestOlderClientsGetNoNewEvents(t *testing.T) {
	a := flow()
	a.replies = []string{"Green", "true"}
	in := request("r1", map[string]any{"tools": []any{map[string]any{"name": "confetti", "description": "x"}}})
	delete(in, "protocolVersion")
	a.tasks = nil
	a.history = slices.DeleteFunc(a.history, func(e run.Event) bool { return e.Kind == run.Waiting })
	_, events := post(t, a, in)
	if find(events, typeStepStarted) == nil || find(events, typeSubagentStarted) != nil {
		t.Errorf("%v", types(events))
	}
	if ignored := find(events, typeCustom); at(t, ignored, "value", 0) != "confetti" {
		t.Errorf("%v", ignored)
	}
}

func TestRefusedInputs(t *testing.T) {
	a := flow()
	_, first := post(t, a, request("r1", nil))
	question := interruptIn(t, first)
	for name, in := range map[string]map[string]any{
		"no run":           request("", nil),
		"a long thread":    request("r9", map[string]any{"threadId": strings.Repeat("x", 300)}),
		"no message":       request("r9", map[string]any{"messages": []any{}}),
		"an empty message": request("r9", map[string]any{"messages": []any{map[string]any{"id": "m", "role": "user", "content": " "}}}),
		"an image":         request("r9", map[string]any{"messages": []any{map[string]any{"id": "m", "role": "user", "content": []any{map[string]any{"type": "image"}}}}}),
		"no interrupt":     request("r9", resume("x", statusResolved, "Green")),
		"another thread":   request("r9", map[string]any{"threadId": "t2", "resume": resume(question, statusResolved, "Green")["resume"]}),
		"an empty answer":  request("r9", resume(question, statusResolved, map[string]any{"answer": ""})),
		"another status":   request("r9", resume(question, "maybe", "Green")),
		"two answers": request("r9", map[string]any{"resume": []any{
			map[string]any{"interruptId": question, "status": statusResolved}, map[string]any{"interruptId": question, "status": statusResolved},
		}}),
	} {
		if code, body := post(t, a, in); code != http.StatusBadRequest {
			t.Errorf("%s: %d %v", name, code, body)
		}
	}
	if len(a.tasks) != 1 || len(a.replies) != 0 {
		t.Errorf("%d tasks, replies %q", len(a.tasks), a.replies)
	}
}

func TestDecisions(t *testing.T) {
	for payload, want := range map[string]string{
		`{"approved":true}`: "true", `{"approved":false,"comment":"no"}`: "false no", `true`: "true", `false`: "false", `"approve"`: "true", `"deny: too green"`: "false too green",
		`{"approved":true,"editedArgs":{"n": 1.50, "a":12345678901234567890}}`: `true {"n": 1.50, "a":12345678901234567890}`,
		`{"approved":true,"editedArgs":null}`:                                  "true",
	} {
		d, err := decisionOf(json.RawMessage(payload))
		if got := strings.TrimSpace(fmt.Sprintf("%v %s", d.Approve, d.Comment+d.Arguments)); err != nil || got != want {
			t.Errorf("%s: %s %v", payload, got, err)
		}
	}
	for _, payload := range []string{``, `null`, `{}`, `"perhaps"`, `"yes"`, `"No problem. Go on"`, `"approve it"`, `7`, `{"approved":"yes"}`, `{"approved":true,"editedArgs":"{}"}`,
		`{"approved":false,"editedArgs":{"a":1}}`, `"{\"approved\":true,\"editedArgs\":{}}"`} {
		if d, err := decisionOf(json.RawMessage(payload)); err == nil || d.Approve {
			t.Errorf("%s was a decision: %+v", payload, d)
		}
	}
}

func TestContextIsAppended(t *testing.T) {
	in, err := parseInput([]byte(`{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":[{"type":"text","text":"Hi"}]},{"id":"2","role":"assistant","content":"x"}],"context":[{"description":"page","value":"/home"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := in.instruction(); err != nil || text != "Hi\n\nContext from the application:\n- page: /home" {
		t.Errorf("%q %v", text, err)
	}
}

func TestRunThatCannotStart(t *testing.T) {
	for text, want := range map[string]struct{ message, code, reply string }{
		"ProviderNotFound: create a ModelProvider named default.": {"cannot start yet: ProviderNotFound: create a ModelProvider named default. It starts automatically", "CannotStart", ""},
		"RoleNotFound: there is no role coder.":                   {"RoleNotFound: there is no role coder; did you mean code-review?", "NotFound", "discard coder-0"},
	} {
		a := flow()
		a.history = []run.Event{{Kind: run.Blocked, Text: text, Cursor: run.Cursor{Offset: 1}}}
		_, events := post(t, a, request("r1", nil))
		last := find(events, typeRunError)
		if message, _ := last["message"].(string); !strings.Contains(message, want.message) || last["code"] != want.code {
			t.Errorf("%s: the last event is %v", text, last)
		}
		if got := strings.Join(a.replies, ","); got != want.reply {
			t.Errorf("%s: the client sent %q, want %q", text, got, want.reply)
		}
	}
}
