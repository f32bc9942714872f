// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/view"
)

func TestPersonAnswersDuringTheCall(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			a := &agents{asks: []run.Ask{question("Which colour?"), approval("write")}}
			var forms []string
			var mu sync.Mutex
			var notes []string
			session := connection{url: serve(t, a) + "/team-a", user: "jane", revision: revision, options: sdk.ClientOptions{
				ElicitationHandler: person(&forms, actionAccept),
				ProgressNotificationHandler: func(_ context.Context, n *sdk.ProgressNotificationClientRequest) {
					mu.Lock()
					defer mu.Unlock()
					notes = append(notes, n.Params.Message)
				},
			}}.connect(t)
			params := &sdk.CallToolParams{Name: toolRun, Arguments: map[string]any{"role": "general", "instruction": "Paint it"}}
			params.SetProgressToken("p1")
			result, err := session.CallTool(t.Context(), params)
			if err != nil {
				t.Fatal(err)
			}
			if s := stateIn(t, result); result.IsError || s.Phase != v1beta1.TaskSuccess || textOf(result) != "Green, true fine" {
				t.Errorf("%+v %q", s, textOf(result))
			}
			if len(forms) != 2 || !strings.Contains(forms[0], "Which colour?") || !strings.Contains(forms[1], "write") || !strings.Contains(forms[1], "Required by policy") {
				t.Errorf("the person saw %q", forms)
			}
			mu.Lock()
			defer mu.Unlock()
			if !slices.ContainsFunc(notes, func(n string) bool { return strings.HasSuffix(n, "started") }) {
				t.Errorf("progress: %q", notes)
			}
			if len(a.runs) != 1 || a.submissions != 2 {
				t.Errorf("%d runs, %d messages", len(a.runs), a.submissions)
			}
		})
	}
}

func TestClosedFormDecidesNothing(t *testing.T) {
	for _, revision := range revisions {
		for _, action := range []string{"decline", "cancel"} {
			t.Run(revision+" "+action, func(t *testing.T) {
				a := &agents{asks: []run.Ask{approval("write")}}
				var forms []string
				session := connection{url: serve(t, a) + "/team-a", user: "jane", revision: revision, options: sdk.ClientOptions{ElicitationHandler: person(&forms, action)}}.connect(t)
				result, s := callTool(t, session, toolRun, map[string]any{"role": "general", "instruction": "Paint it"})
				if s.Phase != v1beta1.TaskWaiting || s.Waiting == nil || !strings.Contains(textOf(result), "kubectl nestor approve -n team-a general-0") ||
					!strings.Contains(textOf(result), "Required by policy") || a.submissions != 0 {
					t.Errorf("%+v %q, %d messages", s, textOf(result), a.submissions)
				}
			})
		}
	}
}

func TestClientsWithoutForms(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			a := &agents{asks: []run.Ask{question("Which colour?"), approval("write")}}
			session := connection{url: serve(t, a) + "/team-a", user: "jane", revision: revision}.connect(t)
			result, s := callTool(t, session, "Search", map[string]any{"task": "Find it"})
			if s.Waiting == nil || !strings.Contains(textOf(result), "Which colour?") || !strings.Contains(s.Next, toolAnswer) {
				t.Fatalf("%+v %q", s, textOf(result))
			}
			_, s = callTool(t, session, toolAnswer, map[string]any{"task": s.Task, "ask": s.Waiting.Ask, "answer": "Green"})
			if s.Waiting == nil || s.Waiting.Kind != v1beta1.WaitingApproval || !strings.Contains(s.Next, "https://page.example/team-a/runs/"+s.Task) ||
				!strings.Contains(s.Next, "kubectl nestor approve -n team-a "+s.Task) {
				t.Fatalf("%+v", s)
			}
			stale, _ := callTool(t, session, toolAnswer, map[string]any{"task": s.Task, "ask": "call-0@" + s.Task, "answer": "Red"})
			if !stale.IsError || !strings.Contains(textOf(stale), "does not wait") {
				t.Errorf("%q", textOf(stale))
			}
			// No tool decides: the run waits until a person does, elsewhere.
			for _, tool := range []string{toolAnswer, "decide"} {
				arguments := map[string]any{"task": s.Task, "ask": s.Waiting.Ask, "answer": "approve", "decision": "approve"}
				if tool == toolAnswer {
					delete(arguments, "decision")
				}
				refused, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
				if err == nil && !refused.IsError || a.submissions != 1 {
					t.Errorf("%s: %+v %v, %d messages", tool, refused, err, a.submissions)
				}
			}
			decideElsewhere(t, a, s.Task, "not today")
			result, s = callTool(t, session, toolGet, map[string]any{"task": s.Task, "waitSeconds": 60})
			if s.Phase != v1beta1.TaskSuccess || textOf(result) != "Green, false not today" {
				t.Errorf("%+v %q", s, textOf(result))
			}
		})
	}
}

// callByHand makes a call that returns a form, and returns the next call with the content of that form. The client
// does not repeat the call itself.
func callByHand(t *testing.T, a *agents, content map[string]any) (*sdk.ClientSession, *sdk.CallToolParams) {
	t.Helper()
	options := sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{}}}
	options.MultiRoundTrip = &sdk.MultiRoundTripOptions{Disabled: true}
	session := connection{url: serve(t, a) + "/team-a", user: "jane", options: options}.connect(t)
	params := &sdk.CallToolParams{Name: toolRun, Arguments: map[string]any{"role": "general", "instruction": "Paint it"}}
	first, err := session.CallTool(t.Context(), params)
	if err != nil || !first.NeedsInput() {
		t.Fatalf("%+v %v", first, err)
	}
	params.RequestState, params.InputResponses = first.RequestState, sdk.InputResponseMap{}
	for id := range first.InputRequests {
		params.InputResponses[id] = &sdk.ElicitResult{Action: actionAccept, Content: content}
	}
	return session, params
}

// decideElsewhere denies the call that a task waits for, as a person at another client.
func decideElsewhere(t *testing.T, a *agents, task, comment string) {
	t.Helper()
	waiting, err := a.Task(t.Context(), "team-a", task)
	if err != nil {
		t.Fatal(err)
	}
	ask, _ := a.OpenAsk(t.Context(), waiting)
	if _, err := a.Decide(t.Context(), *ask, run.Decision{Comment: comment, Shown: ask.Ref()}, "elsewhere"); err != nil {
		t.Fatal(err)
	}
}

// A client that lost the response repeats the request with the answer.
func TestRepeatedAnswerIsOne(t *testing.T) {
	a := &agents{asks: []run.Ask{question("Which colour?"), question("Which size?")}}
	session, params := callByHand(t, a, map[string]any{"answer": "Green"})
	for range 2 {
		second, err := session.CallTool(t.Context(), params)
		if err != nil || !second.NeedsInput() || len(second.InputRequests) != 1 {
			t.Fatalf("%+v %v", second, err)
		}
		for _, form := range second.InputRequests {
			if message := form.(*sdk.ElicitParams).Message; !strings.Contains(message, "Which size?") {
				t.Errorf("asks %q", message)
			}
		}
	}
	if a.submissions != 1 || len(a.runs) != 1 {
		t.Errorf("%d messages, %d runs", a.submissions, len(a.runs))
	}
	params.RequestState = "1/team-b/general-0"
	if result, err := session.CallTool(t.Context(), params); err != nil || !result.IsError || !strings.Contains(textOf(result), "another namespace") {
		t.Errorf("%+v %v", result, err)
	}
}

// The form belongs to get_task, and the task to start_task.
func TestFormAfterStart(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			a := &agents{asks: []run.Ask{approval("write")}}
			var forms []string
			options := sdk.ClientOptions{ElicitationHandler: person(&forms, actionAccept)}
			session := connection{url: serve(t, a) + "/team-a", user: "jane", revision: revision, options: options}.connect(t)
			_, s := callTool(t, session, toolStart, map[string]any{"role": "general", "instruction": "Paint it"})
			result, s := callTool(t, session, toolGet, map[string]any{"task": s.Task, "waitSeconds": 60})
			if s.Phase != v1beta1.TaskSuccess || textOf(result) != "true fine" || len(forms) != 1 {
				t.Errorf("%+v %q, the person saw %q", s, textOf(result), forms)
			}
		})
	}
}

// A colleague has decided about the call of the form, and another call waits.
func TestStaleForm(t *testing.T) {
	a := &agents{asks: []run.Ask{approval("write"), approval("burn")}}
	session, params := callByHand(t, a, map[string]any{"decision": "approve"})
	decideElsewhere(t, a, "general-0", "")
	second, err := session.CallTool(t.Context(), params)
	if err != nil || !second.NeedsInput() || a.submissions != 1 {
		t.Fatalf("%+v %v, %d messages", second, err, a.submissions)
	}
	for id, form := range second.InputRequests {
		message := form.(*sdk.ElicitParams).Message
		if params.InputResponses[id] != nil || !strings.Contains(message, "A form was not used") || !strings.Contains(message, "burn") {
			t.Errorf("%s asks %q", id, message)
		}
	}
}

// Another person answers while the client shows the form.
func TestAnswerElsewhere_OpenForm(t *testing.T) {
	a := &agents{asks: []run.Ask{question("Which colour?")}}
	shown, over := make(chan struct{}), make(chan struct{})
	session := connection{url: serve(t, a) + "/team-a", user: "jane", revision: "2025-11-25", options: sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			close(shown)
			<-over
			return &sdk.ElicitResult{Action: "cancel"}, nil
		},
	}}.connect(t)
	go func() {
		<-shown
		task, err := a.Task(context.Background(), "team-a", "general-0")
		if err != nil {
			return
		}
		ask, _ := a.OpenAsk(context.Background(), task)
		_ = a.Answer(context.Background(), *ask, "Blue", "elsewhere")
	}()
	result, s := callTool(t, session, toolRun, map[string]any{"role": "general", "instruction": "Paint it"})
	close(over)
	if s.Phase != v1beta1.TaskSuccess || textOf(result) != "Blue" {
		t.Errorf("%+v %q", s, textOf(result))
	}
}

// Only the form of a call that can be edited has its arguments, and text in other fields is no edit.
func TestFormWithArguments(t *testing.T) {
	ask := run.Ask{Ask: view.Ask{Kind: v1beta1.WaitingApproval, Tool: "write", Arguments: `{"n": 1.50}`}}
	field := func() any {
		return elicitation(ask).RequestedSchema.(schema)["properties"].(schema)["arguments"]
	}
	if field() != nil {
		t.Error("the form of a call that cannot be edited has arguments")
	}
	ask.Editable = true
	if shown, ok := field().(schema); !ok || shown["default"] != ask.Arguments {
		t.Errorf("the field is %v, want the arguments of the call", field())
	}
	got, err := readReply(true, "x", map[string]any{"decision": "approve", "arguments": `{"n": 2.50}`, "comment": "{}"})
	if err != nil || got.decision.Arguments != `{"n": 2.50}` {
		t.Errorf("%+v, %v", got, err)
	}
}
