// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agui

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

// agents are runs with a recorded history. Where the history has a wait, it continues when the wait is over.
type agents struct {
	mu      sync.Mutex
	history []run.Event
	phase   v1beta1.TaskPhase
	tasks   []*v1beta1.AgentTask
	replies []string
	keys    []string
	// sent are the idempotency keys of the replies.
	sent []string
}

func (a *agents) Start(_ context.Context, r run.Request) (*v1beta1.AgentTask, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	task := &v1beta1.AgentTask{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: fmt.Sprintf("%s-%d", r.Role, len(a.tasks)), Labels: r.Labels, Annotations: r.Annotations},
		Spec:       v1beta1.AgentTaskSpec{Role: r.Role, Instruction: r.Instruction, ContinueFrom: r.ContinueFrom},
		Status:     v1beta1.AgentTaskStatus{Phase: v1beta1.TaskRunning},
	}
	task.Status.SubAgent = task.Name
	task.CreationTimestamp = metav1.Unix(int64(len(a.tasks)), 0)
	a.tasks, a.keys = append(a.tasks, task), append(a.keys, r.Key)
	a.replies = nil
	return task.DeepCopy(), true, nil
}

func (a *agents) Task(_ context.Context, _, name string) (*v1beta1.AgentTask, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, task := range a.tasks {
		if task.Name == name {
			return task.DeepCopy(), nil
		}
	}
	return nil, fmt.Errorf("%s not found", name)
}

func (a *agents) Tasks(_ context.Context, _ string, selector labels.Selector) ([]v1beta1.AgentTask, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var tasks []v1beta1.AgentTask
	for _, task := range a.tasks {
		if selector.Matches(labels.Set(task.Labels)) {
			tasks = append(tasks, *task.DeepCopy())
		}
	}
	return tasks, nil
}

// open returns the wait that has no reply yet.
func (a *agents) open() *run.Ask {
	waits := 0
	for _, e := range a.history {
		if e.Kind == run.Waiting {
			if waits++; waits > len(a.replies) {
				return e.Ask
			}
		}
	}
	return nil
}

func (a *agents) OpenAsk(context.Context, *v1beta1.AgentTask) (*run.Ask, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tasks[len(a.tasks)-1].Status.Phase != v1beta1.TaskWaiting {
		return nil, nil
	}
	return a.open(), nil
}

func (a *agents) FollowTask(_ context.Context, _, name string, from run.Cursor) iter.Seq2[run.Event, error] {
	return func(yield func(run.Event, error) bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		send := func(e run.Event) bool {
			a.mu.Unlock()
			defer a.mu.Lock()
			return yield(e, nil)
		}
		task := a.tasks[slices.IndexFunc(a.tasks, func(t *v1beta1.AgentTask) bool { return t.Name == name })]
		open := a.open()
		for _, e := range a.history {
			if e.Kind == run.Waiting {
				if open == nil || e.Ask.ID() != open.ID() {
					continue
				}
				task.Status.Phase = v1beta1.TaskWaiting
				e.Task = task
				send(e)
				return
			}
			e.Task = task
			if e.Cursor.Seq > from.Seq || (e.Cursor.Seq == from.Seq && e.Cursor.Offset > from.Offset) {
				if !send(e) {
					return
				}
			}
		}
		task.Status.Phase = a.phase
		task.Status.Result = &v1beta1.TaskResult{Summary: "It is green."}
		task.Status.Error = &v1beta1.RunError{Kind: "Failed", Message: "out of paint"}
		send(run.Event{Kind: run.End, Task: task})
	}
}

func (a *agents) reply(text, key string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent = append(a.sent, key)
	a.replies = append(a.replies, text)
	a.tasks[len(a.tasks)-1].Status.Phase = v1beta1.TaskRunning
	return nil
}

func (a *agents) Answer(_ context.Context, _ run.Ask, text, key string) error {
	return a.reply(text, key)
}

func (a *agents) Decide(_ context.Context, ask run.Ask, d run.Decision, key string) (string, error) {
	if d.Shown != ask.Ref() {
		return "", errors.New("this was not shown")
	}
	return "", a.reply(strings.TrimSpace(fmt.Sprintf("%v %s", d.Approve, d.Comment)), key)
}

func (a *agents) HasAnswered(_ context.Context, _, _, key string) (string, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return "", slices.Contains(a.sent, key), nil
}

func (a *agents) Cancel(_ context.Context, _, task, key string) error {
	return a.reply("cancel "+task, key)
}

func (a *agents) Discard(_ context.Context, task *v1beta1.AgentTask) (string, error) {
	return "; did you mean code-review?", a.reply("discard "+task.Name, "")
}

func tokens(n int64) *historyv1.TokenUsage {
	return &historyv1.TokenUsage{PromptTokens: &n, CompletionTokens: &n}
}

func entry(e historyv1.Entry) run.Event {
	return run.Event{Kind: run.Entry, Cursor: run.Cursor{Seq: e.Seq}, Entry: &e}
}

func waits(kind v1beta1.WaitingKind, seq int64, call string) run.Event {
	ask := &run.Ask{SubAgent: "coder-0-1"}
	ask.Kind, ask.Task, ask.Role, ask.Call, ask.Question = kind, "coder-0", "coder", call, "Which colour?"
	if kind == v1beta1.WaitingApproval {
		ask.Tool, ask.Arguments, ask.Question = "paint", `{"colour":"green"}`, ""
		ask.Digest, ask.Reasons = agent.CallDigest(ask.Tool, ask.Arguments), []string{"Required by policy team/paint, rule people"}
	}
	return run.Event{Kind: run.Waiting, Cursor: run.Cursor{Seq: seq}, Ask: ask}
}

func called(id, tool string, phase historyv1.ToolCallPhase) []historyv1.ToolCall {
	return []historyv1.ToolCall{{ID: id, Tool: tool, Arguments: `{}`, Phase: phase}}
}

// flow is a run with a question, an approval, a sub-agent, reasoning, and a result that breaks off once.
func flow() *agents {
	return &agents{phase: v1beta1.TaskSuccess, history: []run.Event{
		entry(historyv1.Entry{Seq: 1, Kind: historyv1.EntryStarted}),
		entry(historyv1.Entry{Seq: 2, Kind: historyv1.EntryAssistant, Content: "I ask.", Reasoning: "I need a colour.", Usage: tokens(10), ToolCalls: called("q", "ask_user", historyv1.ToolCallWaitingForUser)}),
		waits(v1beta1.WaitingQuestion, 2, "q"),
		entry(historyv1.Entry{Seq: 3, Kind: historyv1.EntryAnswer, Content: "Green", ToolCalls: called("q", "ask_user", historyv1.ToolCallSuccess)}),
		entry(historyv1.Entry{Seq: 4, Kind: historyv1.EntryAssistant, Usage: tokens(5), ToolCalls: called("d", "delegate_to_agent", historyv1.ToolCallDelegated),
			Children: []historyv1.ChildRun{{Name: "coder-0-1", Role: "painter", ToolCall: "d", Instruction: "Paint"}}}),
		waits(v1beta1.WaitingApproval, 4, "p"),
		entry(historyv1.Entry{Seq: 5, Kind: historyv1.EntryChildResult, Child: "coder-0-1", Content: "Painted.", Usage: tokens(7), ToolCalls: called("d", "delegate_to_agent", historyv1.ToolCallSuccess)}),
		{Kind: run.Text, Cursor: run.Cursor{Seq: 5, Offset: 3}, Text: "Void", Begin: true},
		{Kind: run.Replace, Cursor: run.Cursor{Seq: 5, Offset: 4}},
		{Kind: run.Text, Cursor: run.Cursor{Seq: 5, Offset: 6}, Text: "It is ", Begin: true},
		{Kind: run.Text, Cursor: run.Cursor{Seq: 5, Offset: 12}, Text: "green."},
		entry(historyv1.Entry{Seq: 6, Kind: historyv1.EntryAssistant, Usage: tokens(3), Outcome: &historyv1.Outcome{Result: "It is green."}, ToolCalls: called("s", "submit_result", historyv1.ToolCallSuccess)}),
	}}
}

// received is a decoded event.
type received = map[string]any

// post sends a RunAgentInput and returns the events, which it checks.
func post(t *testing.T, a *agents, in map[string]any) (int, []received) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	recorder := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/ag-ui/team-a/coder", bytes.NewReader(body))
	if err := serve(recorder, r, a, "team-a", "coder"); err != nil {
		New().WriteError(recorder, err)
		return recorder.Code, []received{{"message": recorder.Body.String()}}
	}
	var events []received
	scanner := bufio.NewScanner(recorder.Body)
	for scanner.Scan() {
		if data, ok := strings.CutPrefix(scanner.Text(), "data: "); ok {
			var e received
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatal(err)
			}
			events = append(events, e)
		}
	}
	checkOrder(t, events)
	return recorder.Code, events
}

// brackets are the events that open and close something, by the field that identifies it.
var brackets = []struct{ open, end, field string }{
	{typeTextStart, typeTextEnd, "messageId"}, {typeToolStart, typeToolEnd, "toolCallId"}, {typeReasoningStart, typeReasoningEnd, "messageId"},
	{typeReasoningOpen, typeReasoningClose, "messageId"}, {typeStepStarted, typeStepFinished, "stepName"}, {typeSubagentStarted, typeSubagentFinished, "subagentRunId"},
}

// checkOrder checks the rules of AG-UI: a run starts and ends once, and everything that was opened is closed in
// between.
func checkOrder(t *testing.T, events []received) {
	t.Helper()
	if len(events) < 2 || events[0]["type"] != typeRunStarted {
		t.Fatalf("events: %v", events)
	}
	last := events[len(events)-1]["type"]
	if last != typeRunFinished && last != typeRunError {
		t.Errorf("the last event is %v", last)
	}
	open := map[string]bool{}
	for _, e := range events {
		for _, b := range brackets {
			key := fmt.Sprint(b.open, e[b.field])
			switch {
			case e["type"] == b.open && open[key]:
				t.Errorf("opened twice: %v", e)
			case e["type"] == b.open:
				open[key] = true
			case e["type"] == typeSubagentError && b.open == typeSubagentStarted:
				delete(open, key)
			case e["type"] == b.end && !open[key]:
				t.Errorf("closed and not open: %v", e)
			case e["type"] == b.end:
				delete(open, key)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("never closed: %v", open)
	}
}

func find(events []received, kind string) received {
	for _, e := range events {
		if e["type"] == kind {
			return e
		}
	}
	return nil
}

func types(events []received) []string {
	var all []string
	for _, e := range events {
		all = append(all, e["type"].(string))
	}
	return all
}

// at returns a value inside an event.
func at(t *testing.T, value any, path ...any) any {
	t.Helper()
	for _, key := range path {
		switch k := key.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[k]
		case int:
			list, _ := value.([]any)
			if k >= len(list) {
				t.Fatalf("%v has no %d", value, k)
			}
			value = list[k]
		}
	}
	return value
}

func request(run string, more map[string]any) map[string]any {
	in := map[string]any{
		"threadId": "t1", "runId": run, "protocolVersion": "1.0", "state": map[string]any{"theme": "dark"}, "tools": []any{}, "context": []any{},
		"messages": []any{map[string]any{"id": "m1", "role": "user", "content": "Paint it"}},
	}
	maps.Copy(in, more)
	return in
}

func resume(id any, status string, payload any) map[string]any {
	entry := map[string]any{"interruptId": id, "status": status}
	if payload != nil {
		entry["payload"] = payload
	}
	return map[string]any{"resume": []any{entry}}
}

// interruptIn returns the id of the interrupt that ends the events.
func interruptIn(t *testing.T, events []received) any {
	t.Helper()
	id := at(t, find(events, typeRunFinished), "outcome", "interrupts", 0, "id")
	if id == nil {
		t.Fatalf("no interrupt: %v", events[len(events)-1])
	}
	return id
}
