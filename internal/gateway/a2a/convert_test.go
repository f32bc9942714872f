// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/push"
	"github.com/nestor-dev/nestor/internal/role"
)

func makeTask(phase v1beta1.TaskPhase) *v1beta1.AgentTask {
	task := &v1beta1.AgentTask{Spec: v1beta1.AgentTaskSpec{Role: "releaser", Instruction: "Release"}, Status: v1beta1.AgentTaskStatus{Phase: phase}}
	task.Namespace, task.Name, task.UID = "team", "releaser-1", "uid"
	return task
}

func textOf(message *a2a.Message) string {
	if message == nil {
		return ""
	}
	var b strings.Builder
	for _, part := range message.Parts {
		b.WriteString(part.Text())
	}
	return b.String()
}

func TestStates(t *testing.T) {
	for phase, want := range map[v1beta1.TaskPhase]a2a.TaskState{
		"": a2a.TaskStateSubmitted, v1beta1.TaskPending: a2a.TaskStateSubmitted, v1beta1.TaskRunning: a2a.TaskStateWorking, v1beta1.TaskWaiting: a2a.TaskStateInputRequired,
		v1beta1.TaskSuccess: a2a.TaskStateCompleted, v1beta1.TaskFailed: a2a.TaskStateFailed, v1beta1.TaskCancelled: a2a.TaskStateCanceled,
	} {
		if got := convert(makeTask(phase), nil, nil).Status.State; got != want {
			t.Errorf("phase %q is %s, want %s", phase, got, want)
		}
	}
}

func TestStatusMessages(t *testing.T) {
	failed := makeTask(v1beta1.TaskFailed)
	failed.Status.Error = &v1beta1.RunError{Kind: "Model", Message: "no answer"}
	pending := makeTask(v1beta1.TaskPending)
	pending.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: "ProviderNotFound", Message: "create it"}}
	for want, task := range map[string]*v1beta1.AgentTask{"Model: no answer": failed, "ProviderNotFound: create it": pending, "": makeTask(v1beta1.TaskRunning)} {
		if got := textOf(convert(task, nil, nil).Status.Message); got != want {
			t.Errorf("the message is %q, want %q", got, want)
		}
	}
}

func TestIDsAndHistory(t *testing.T) {
	task, none := makeTask(v1beta1.TaskRunning), 0
	task.Labels, task.Annotations = map[string]string{labelContext: "c-1"}, map[string]string{annotationMessage: "m-1"}
	shown := convert(task, nil, nil)
	if shown.ID != "releaser-1" || shown.ContextID != "c-1" || shown.History[0].ID != "m-1" || shown.History[0].Parts[0].Text() != "Release" {
		t.Errorf("shown %+v", shown)
	}
	if got := convert(makeTask(""), nil, &none); got.ContextID != "releaser-1" || len(got.History) != 0 {
		t.Errorf("without a context and a history: %+v", got)
	}
}

// makeAsk returns a task that waits, and its ask.
func makeAsk(kind v1beta1.WaitingKind) (*v1beta1.AgentTask, *run.Ask) {
	task := makeTask(v1beta1.TaskWaiting)
	task.Status.SubAgent = "releaser-1"
	task.Status.Waiting = &v1beta1.Waiting{Kind: kind, SubAgent: "releaser-1", ToolCall: "call-1", Text: `write {"path":"x"}`, Tool: "write", Arguments: &runtime.RawExtension{Raw: []byte(`{"path":"x"}`)}}
	return task, statusAsk(task, *task.Status.Waiting)
}

func TestAskMessage(t *testing.T) {
	_, approval := makeAsk(v1beta1.WaitingApproval)
	approval.Reasons = []string{"Required by policy team/writes, rule people: Ask first.", "The agent's context is untrusted"}
	message := askMessage(a2a.TaskInfo{TaskID: "releaser-1"}, approval, "")
	if text := textOf(message); !strings.Contains(text, strings.Join(approval.Reasons, "\n")) {
		t.Errorf("the reasons are missing: %q", text)
	}
	data := message.Parts[1].Data().(map[string]any)
	if message.ID != "call-1@releaser-1" || data["kind"] != "approval" || data["tool"] != "write" || data["arguments"] != `{"path":"x"}` || data["ask"] != message.ID {
		t.Errorf("the message is %+v, %v", message, data)
	}
	_, question := makeAsk(v1beta1.WaitingQuestion)
	message = askMessage(a2a.TaskInfo{TaskID: "releaser-1"}, question, "the message was rejected (NotWaiting): late")
	if data := message.Parts[1].Data().(map[string]any); !strings.HasPrefix(textOf(message), "the message was rejected") || data["rejected"] == nil || data["kind"] != "question" {
		t.Errorf("after a rejection: %q, %v", textOf(message), data)
	}
}

func TestFailures(t *testing.T) {
	resource := schema.GroupResource{Group: "nestor.dev", Resource: "agenttasks"}
	for _, c := range []struct{ err, want error }{
		{apierrors.NewNotFound(resource, "x"), a2a.ErrTaskNotFound}, {apierrors.NewForbidden(resource, "x", errors.New("no")), a2a.ErrUnauthorized},
		{apierrors.NewUnauthorized("no"), a2a.ErrUnauthenticated}, {apierrors.NewBadRequest("no"), a2a.ErrInvalidParams}, {run.ErrKeyReused, a2a.ErrInvalidParams},
		{errors.New("dial tcp 10.0.0.1: secret"), a2a.ErrInternalError}, {context.Canceled, a2a.ErrInternalError}, {errNoPushInChats, a2a.ErrPushNotificationNotSupported},
	} {
		if got := failure(c.err); !errors.Is(got, c.want) || strings.Contains(got.Error(), "secret") {
			t.Errorf("%v became %v, want %v", c.err, got, c.want)
		}
	}
}

func TestNotification(t *testing.T) {
	if state, _, err := Notification(makeTask(v1beta1.TaskPending)); state != "" || err != nil {
		t.Errorf("a submitted task is notified as %q, %v", state, err)
	}
	inChat := makeTask(v1beta1.TaskRunning)
	inChat.Spec.Chat = "lounge"
	if state, _, err := Notification(inChat); state != "" || err != nil {
		t.Errorf("a task of a chat is notified as %q, %v", state, err)
	}
	waiting, _ := makeAsk(v1beta1.WaitingQuestion)
	first, _, _ := Notification(waiting)
	again, _, _ := Notification(waiting.DeepCopy())
	waiting.Status.Waiting.ToolCall = "call-2"
	second, _, _ := Notification(waiting)
	if first != again || first == second || !strings.HasPrefix(first, "TASK_STATE_INPUT_REQUIRED/") {
		t.Errorf("the states are %s, %s and %s", first, again, second)
	}
	waiting.Status.Waiting.SubAgent = "tester-7"
	_, body, err := Notification(waiting)
	if err != nil || strings.Contains(string(body), `"ask"`) {
		t.Errorf("the ask of an agent below has an id that does not answer it: %s, %v", body, err)
	}
	done := makeTask(v1beta1.TaskSuccess)
	done.Status.Result = &v1beta1.TaskResult{Summary: "Done.", Details: "All of it."}
	state, body, err := Notification(done)
	var event a2a.StreamResponse
	if err != nil || state != "TASK_STATE_COMPLETED" || json.Unmarshal(body, &event) != nil {
		t.Fatalf("%s, %s, %v", state, body, err)
	}
	if task, ok := event.Event.(*a2a.Task); !ok || task.Artifacts[0].Parts[0].Text() != "Done.\n\nAll of it." || len(task.History) != 0 {
		t.Errorf("notified %s", body)
	}
}

func TestCard(t *testing.T) {
	a := agent{namespace: "team", role: "releaser", address: "https://gateway"}
	card := a.cardOf(role.Role{})
	if card.Name != "releaser" || card.Capabilities.PushNotifications || !card.Capabilities.Streaming || card.SupportedInterfaces[0].URL != "https://gateway/a2a/team/releaser" {
		t.Errorf("card %+v", card)
	}
	a.push = push.Registrar{}
	if !a.cardOf(role.Role{}).Capabilities.PushNotifications {
		t.Error("the card does not offer push notifications")
	}
}

// artifactOf plays the updates of an artifact as a client does.
func artifactOf(events []a2a.Event) string {
	text := ""
	for _, event := range events {
		if update, ok := event.(*a2a.TaskArtifactUpdateEvent); ok && update.Artifact.ID == resultArtifact {
			if !update.Append {
				text = ""
			}
			text += update.Artifact.Parts[0].Text()
		}
	}
	return text
}

func TestArtifacts(t *testing.T) {
	task := makeTask(v1beta1.TaskSuccess)
	task.Status.Result = &v1beta1.TaskResult{Summary: "Done.", FilesCreated: []v1beta1.ReportedPath{"a.go"}, DataOmitted: true}
	recorded := &historyv1.Outcome{FilesModified: []string{"b.go"}, Data: &runtime.RawExtension{Raw: []byte(`{"count":3}`)}}
	for name, c := range map[string]struct {
		recorded *historyv1.Outcome
		want     string
	}{
		"from the history": {recorded, `[{"artifactId":"result","name":"result","parts":[{"text":"Done."}]},{"artifactId":"data","name":"data","parts":[{"data":{"count":3}}]},` +
			`{"artifactId":"changes","name":"changes","parts":[{"data":{"filesCreated":[],"filesModified":["b.go"]}}]}]`},
		"from the status": {nil, `[{"artifactId":"result","name":"result","parts":[{"text":"Done."}]},{"artifactId":"data","name":"data","parts":[{"text":"The data is too large to be shown here: ` +
			`read the task with GetTask and a token that may read its history."}]},{"artifactId":"changes","name":"changes","parts":[{"data":{"filesCreated":["a.go"],"filesModified":[]}}]}]`},
	} {
		got, err := json.Marshal(taskArtifacts("Done.", task, c.recorded))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v\nwant %s", name, got, err, c.want)
		}
	}
	if got := taskArtifacts("", makeTask(v1beta1.TaskCancelled), nil); len(got) != 0 {
		t.Errorf("a task without a result has %v", got)
	}
}

// A client that applies the updates has the answer, whatever broke off in between.
func TestStreamedText(t *testing.T) {
	task := makeTask(v1beta1.TaskSuccess)
	chat := &turn{chat: &v1beta1.AgentChat{}, message: &v1beta1.AgentMessage{}, begin: -1}
	piece := func(text string, begin bool) run.Event { return run.Event{Kind: run.Text, Text: text, Begin: begin} }
	end := func(answer string) run.Event { return run.Event{Kind: run.End, Task: task, Answer: answer} }
	for name, c := range map[string]struct {
		exchange exchange
		events   []run.Event
		want     string
	}{
		"a result":                   {exchange{task: task}, []run.Event{piece("Hel", true), piece("lo", false), end("Hello")}, "Hello"},
		"nothing streamed":           {exchange{task: task}, []run.Event{end("Hello")}, "Hello"},
		"a reply that broke off":     {exchange{task: task}, []run.Event{piece("Wro", true), {Kind: run.Replace}, piece("Hello", true), end("Hello")}, "Hello"},
		"another result":             {exchange{task: task}, []run.Event{piece("First", true), piece("Second", true), end("Second")}, "Second"},
		"two replies of a chat":      {exchange{turn: chat}, []run.Event{piece("One", true), piece(".", false), piece("Two.", true), end("One.\n\nTwo.")}, "One.\n\nTwo."},
		"the second one broke off":   {exchange{turn: chat}, []run.Event{piece("One.", true), piece("Tw", true), {Kind: run.Replace}, piece("Two.", true), end("One.\n\nTwo.")}, "One.\n\nTwo."},
		"a chat without a history":   {exchange{turn: chat}, []run.Event{end("One.\n\nTwo.")}, "One.\n\nTwo."},
		"a task that ends with none": {exchange{task: task}, []run.Event{end("")}, ""},
	} {
		s := &streamed{exchange: c.exchange}
		var sent []a2a.Event
		for _, event := range c.events {
			sent = append(sent, s.events(event)...)
		}
		if got := artifactOf(sent); got != c.want {
			t.Errorf("%s: the artifact is %q, want %q", name, got, c.want)
		}
		if _, ok := sent[len(sent)-1].(*a2a.TaskStatusUpdateEvent); !ok {
			t.Errorf("%s: the last event is %T", name, sent[len(sent)-1])
		}
	}
}

func TestDecisionInMessage(t *testing.T) {
	for name, c := range map[string]struct {
		parts []*a2a.Part
		want  decision
	}{
		"text": {[]*a2a.Part{a2a.NewTextPart("approve it")}, decision{Decision: "approve it"}},
		"data": {[]*a2a.Part{a2a.NewDataPart(map[string]any{"decision": "deny", "comment": "no", "ask": "a", "digest": "d"})}, decision{"deny", "no", "a", "d", ""}},
		"edit": {[]*a2a.Part{a2a.NewDataPart(map[string]any{"decision": "approve", "ask": "a", "arguments": `{"n": 1.50}`})}, decision{Decision: "approve", Ask: "a", Arguments: `{"n": 1.50}`}},
		"text never edits": {[]*a2a.Part{a2a.NewTextPart(`{"decision": "approve", "ask": "a", "arguments": "{}"}`)},
			decision{Decision: `{"decision": "approve", "ask": "a", "arguments": "{}"}`}},
		"both": {[]*a2a.Part{a2a.NewTextPart("approve"), a2a.NewDataPart(map[string]any{"ask": "a"})}, decision{Decision: "approve", Ask: "a"}},
	} {
		in, err := read(&a2a.Message{Parts: c.parts})
		if got := in.decision(); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := read(&a2a.Message{Parts: a2a.ContentParts{a2a.NewRawPart([]byte("x"))}}); !errors.Is(err, a2a.ErrUnsupportedContentType) {
		t.Errorf("a file: %v", err)
	}
}

func TestRefusedMessages(t *testing.T) {
	for name, message := range map[string]*a2a.Message{
		"nothing": nil, "no id": {}, "a context with a slash": {ID: "1", ContextID: "a/b"}, "a long context": {ID: "1", ContextID: strings.Repeat("c", 64)},
	} {
		if _, err := (agent{}).receive(t.Context(), &a2a.SendMessageRequest{Message: message}); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%s: %v", name, err)
		}
	}
	notified := &a2a.SendMessageRequest{Message: &a2a.Message{ID: "1", ContextID: "chat/lounge"}, Config: &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{URL: "https://x/"}}}
	if _, err := (agent{}).receive(t.Context(), notified); !errors.Is(err, a2a.ErrPushNotificationNotSupported) {
		t.Errorf("push notifications of a chat: %v", err)
	}
}

func TestOwns(t *testing.T) {
	a := agent{role: "releaser"}
	inChat, child, other, tool := makeTask(""), makeTask(""), makeTask(""), makeTask("")
	inChat.Spec.Chat, child.Labels, other.Spec.Role, tool.Spec.Type = "lounge", map[string]string{v1beta1.LabelParent: "x"}, "tester", v1beta1.TaskTool
	if !a.owns(makeTask("")) || slices.ContainsFunc([]*v1beta1.AgentTask{inChat, child, other, tool}, a.owns) {
		t.Error("an agent owns the standalone tasks of its role, and no others")
	}
	if changedAt(makeTask("")) != (time.Time{}) {
		t.Error("a task without a condition changed at its creation")
	}
}
