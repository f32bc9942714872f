// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"cmp"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/view"
)

var states = map[v1beta1.TaskPhase]a2a.TaskState{
	v1beta1.TaskPending: a2a.TaskStateSubmitted, v1beta1.TaskRunning: a2a.TaskStateWorking, v1beta1.TaskWaiting: a2a.TaskStateInputRequired,
	v1beta1.TaskSuccess: a2a.TaskStateCompleted, v1beta1.TaskFailed: a2a.TaskStateFailed, v1beta1.TaskCancelled: a2a.TaskStateCanceled,
}

func stateOf(task *v1beta1.AgentTask) a2a.TaskState {
	return cmp.Or(states[task.Status.Phase], a2a.TaskStateSubmitted)
}

func contextOf(task *v1beta1.AgentTask) string { return cmp.Or(task.Labels[labelContext], task.Name) }

// changedAt returns when the state of a task changed.
func changedAt(task *v1beta1.AgentTask) time.Time {
	if c := meta.FindStatusCondition(task.Status.Conditions, v1beta1.ConditionSucceeded); c != nil {
		return c.LastTransitionTime.Time
	}
	return task.CreationTimestamp.Time
}

// convert returns a task without artifacts. ask is what it waits for, or nil.
func convert(task *v1beta1.AgentTask, ask *run.Ask, historyLength *int) *a2a.Task {
	shown := &a2a.Task{ID: a2a.TaskID(task.Name), ContextID: contextOf(task), Status: status(task, ask)}
	if historyLength == nil || *historyLength > 0 {
		id := cmp.Or(task.Annotations[annotationMessage], string(task.UID))
		shown.History = []*a2a.Message{newMessage(id, a2a.MessageRoleUser, shown, a2a.NewTextPart(task.Spec.Instruction))}
	}
	return shown
}

func newMessage(id string, role a2a.MessageRole, task a2a.TaskInfoProvider, parts ...*a2a.Part) *a2a.Message {
	m := a2a.NewMessageForTask(role, task, parts...)
	m.ID = id
	return m
}

// status returns the status of a task, with the message of its ask, error or missing object.
func status(task *v1beta1.AgentTask, ask *run.Ask) a2a.TaskStatus {
	s := a2a.TaskStatus{State: stateOf(task), Timestamp: new(changedAt(task))}
	info := a2a.TaskInfo{TaskID: a2a.TaskID(task.Name), ContextID: contextOf(task)}
	switch {
	case ask != nil:
		s.Message = askMessage(info, ask, "")
	case task.Status.Error != nil:
		text := string(task.Status.Error.Kind) + ": " + task.Status.Error.Message
		s.Message = newMessage(string(task.UID)+"-error", a2a.MessageRoleAgent, info, a2a.NewTextPart(text))
	case s.State == a2a.TaskStateSubmitted:
		if wait := view.OfTask(task); wait != nil && wait.Message != "" {
			s.Message = newMessage(string(task.UID)+"-"+wait.Reason, a2a.MessageRoleAgent, info, a2a.NewTextPart(wait.Condition()))
		}
	}
	return s
}

// askMessage returns the message of a task that waits for a person. rejected is the reason why the last answer was
// rejected, or empty.
func askMessage(info a2a.TaskInfo, ask *run.Ask, rejected string) *a2a.Message {
	id, data := ask.ID(), map[string]any{"ask": ask.ID(), "kind": "question"}
	if ask.Task == "" { // the ask of an agent below the task: the status does not name the one that waits
		id = string(info.TaskID) + "-ask"
		delete(data, "ask")
	}
	if ask.IsApproval() {
		data["kind"], data["tool"], data["arguments"], data["digest"] = "approval", ask.Tool, ask.Arguments, ask.Digest
	}
	text := askText(*ask)
	if rejected != "" {
		data["rejected"] = rejected
		text = rejected + "\n\n" + text
	}
	return newMessage(id, a2a.MessageRoleAgent, info, a2a.NewTextPart(text), a2a.NewDataPart(data))
}

// askText returns an ask for a person. A decision over A2A needs data, because text does not name the ask.
func askText(ask run.Ask) string {
	switch {
	case !ask.IsApproval():
		return ask.Description()
	case ask.Task == "": // as in askMessage
		return ask.Description() + "\n\nTo decide, read the task first."
	}
	edit := ""
	if ask.Editable {
		edit = ` "arguments", an object as text, replaces those of the call.`
	}
	return ask.Description() + "\n\nTo decide, reply to the task with the data " +
		fmt.Sprintf(`{"decision": "approve", "ask": %q, "digest": %q}`, ask.ID(), ask.Digest) +
		`, or "deny", and a "comment" if you like.` + edit + ` Any other reply decides nothing.`
}

// streamed is the part of a task that was sent.
type streamed struct {
	exchange
	// text is the text of the artifact. before is the part of it that is from earlier replies of a chat.
	text, before string
	// void reports that the next piece replaces the text after before.
	void bool
}

// first returns the first event: the task.
func (s *streamed) first() *a2a.Task {
	if s.turn != nil {
		if earlier := s.turn.text(); earlier != "" { // it is sent with the next piece, or at the end
			s.before, s.void = earlier+"\n\n", true
		}
		return s.turn.show(s.turn.status(a2a.TaskStateWorking, "", nil), nil)
	}
	shown := convert(s.task, nil, nil)
	if shown.Status.State == a2a.TaskStateInputRequired {
		shown.Status.State = a2a.TaskStateWorking // the ask follows, if it is still open
	}
	return shown
}

func (s *streamed) events(event run.Event) []a2a.Event {
	switch event.Kind {
	case run.Text:
		return []a2a.Event{s.add(event.Text, event.Begin)}
	case run.Replace:
		s.void = true
	case run.Working, run.Blocked:
		return []a2a.Event{s.update(event)}
	case run.Waiting, run.End:
		var out []a2a.Event
		if event.Answer != "" && event.Answer != s.text {
			out = append(out, s.replace(event.Answer))
		}
		if event.Kind == run.End && s.task != nil {
			out = append(out, s.others(event)...)
		}
		return append(out, s.update(event))
	}
	return nil
}

// add returns the update of the artifact for a piece of text. The replies of a chat's turn are parts of one text; the
// result of a task replaces the text before it.
func (s *streamed) add(text string, begin bool) *a2a.TaskArtifactUpdateEvent {
	switch {
	case s.void && s.turn != nil:
		return s.replace(s.before + text)
	case s.void || begin && s.turn == nil:
		return s.replace(text)
	case begin && s.text != "":
		s.before = s.text + "\n\n"
		text = "\n\n" + text
	}
	begin = s.text == ""
	s.text += text
	return s.artifact(text, !begin)
}

// others returns the updates for the other artifacts, which are sent as a whole.
func (s *streamed) others(event run.Event) []a2a.Event {
	info := s.TaskInfo()
	var out []a2a.Event
	for _, artifact := range taskArtifacts("", event.Task, event.Outcome) {
		out = append(out, &a2a.TaskArtifactUpdateEvent{TaskID: info.TaskID, ContextID: info.ContextID, Artifact: artifact, LastChunk: true})
	}
	return out
}

func (s *streamed) replace(text string) *a2a.TaskArtifactUpdateEvent {
	s.text, s.void = text, false
	return s.artifact(text, false)
}

func (s *streamed) artifact(text string, add bool) *a2a.TaskArtifactUpdateEvent {
	info := s.TaskInfo()
	return &a2a.TaskArtifactUpdateEvent{
		TaskID: info.TaskID, ContextID: info.ContextID, Append: add, Artifact: newArtifact(resultArtifact, a2a.NewTextPart(text)),
	}
}

func (s *streamed) update(event run.Event) *a2a.TaskStatusUpdateEvent {
	info := s.TaskInfo()
	out := &a2a.TaskStatusUpdateEvent{TaskID: info.TaskID, ContextID: info.ContextID}
	if s.turn != nil {
		out.Status = s.turn.after(event)
		return out
	}
	out.Status = status(event.Task, event.Ask)
	switch {
	case event.Ask != nil:
		out.Status.State = a2a.TaskStateInputRequired
		out.Status.Message = askMessage(info, event.Ask, event.Text)
	case event.Kind == run.Working:
		out.Status.State = a2a.TaskStateWorking
	}
	return out
}
