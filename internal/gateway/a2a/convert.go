// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"cmp"
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/client/live"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

// resultArtifact is the id of the artifact with the answer.
const resultArtifact a2a.ArtifactID = "result"

var states = map[v1alpha1.TaskPhase]a2a.TaskState{
	v1alpha1.TaskPending: a2a.TaskStateSubmitted, v1alpha1.TaskRunning: a2a.TaskStateWorking, v1alpha1.TaskWaiting: a2a.TaskStateInputRequired,
	v1alpha1.TaskSuccess: a2a.TaskStateCompleted, v1alpha1.TaskFailed: a2a.TaskStateFailed, v1alpha1.TaskCancelled: a2a.TaskStateCanceled,
}

// stateOf returns the state of a task.
func stateOf(task *v1alpha1.AgentTask) a2a.TaskState {
	return cmp.Or(states[task.Status.Phase], a2a.TaskStateSubmitted)
}

// contextOf returns the context of a task.
func contextOf(task *v1alpha1.AgentTask) string { return cmp.Or(task.Labels[labelContext], task.Name) }

// changedAt returns when the state of a task changed.
func changedAt(task *v1alpha1.AgentTask) time.Time {
	if c := meta.FindStatusCondition(task.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		return c.LastTransitionTime.Time
	}
	return task.CreationTimestamp.Time
}

// convert returns a task without artifacts. ask is what it waits for, or nil.
func convert(task *v1alpha1.AgentTask, ask *run.Ask, historyLength *int) *a2a.Task {
	shown := &a2a.Task{ID: a2a.TaskID(task.Name), ContextID: contextOf(task), Status: status(task, ask)}
	if historyLength == nil || *historyLength > 0 {
		first := &a2a.Message{ID: cmp.Or(task.Annotations[annotationMessage], string(task.UID)), Role: a2a.MessageRoleUser, TaskID: shown.ID, ContextID: shown.ContextID,
			Parts: a2a.ContentParts{a2a.NewTextPart(task.Spec.Instruction)}}
		shown.History = []*a2a.Message{first}
	}
	return shown
}

// status returns the status of a task, with a message if there is something to tell.
func status(task *v1alpha1.AgentTask, ask *run.Ask) a2a.TaskStatus {
	changed := changedAt(task)
	s := a2a.TaskStatus{State: stateOf(task), Timestamp: &changed}
	say := func(id string, parts ...*a2a.Part) {
		s.Message = &a2a.Message{ID: id, Role: a2a.MessageRoleAgent, TaskID: a2a.TaskID(task.Name), ContextID: contextOf(task), Parts: parts}
	}
	switch {
	case ask != nil:
		id, data := ask.ID(), map[string]any{"ask": ask.ID(), "kind": "question"}
		if ask.Task == "" { // that of an agent below, as the status of the task shows it
			id = string(task.UID) + "-ask"
			delete(data, "ask")
		}
		if ask.IsApproval() {
			data["kind"], data["tool"], data["arguments"] = "approval", ask.Tool, ask.Arguments
		}
		say(id, a2a.NewTextPart(ask.Text()), a2a.NewDataPart(data))
	case task.Status.Error != nil:
		say(string(task.UID)+"-error", a2a.NewTextPart(string(task.Status.Error.Kind)+": "+task.Status.Error.Message))
	case s.State == a2a.TaskStateSubmitted:
		if c := meta.FindStatusCondition(task.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil && c.Message != "" {
			say(string(task.UID)+"-"+c.Reason, a2a.NewTextPart(c.Reason+": "+c.Message))
		}
	}
	return s
}

// artifacts returns the artifacts of an answer.
func artifacts(answer string) []*a2a.Artifact {
	if answer == "" {
		return nil
	}
	return []*a2a.Artifact{{ID: resultArtifact, Name: "result", Parts: a2a.ContentParts{a2a.NewTextPart(answer)}}}
}

// stream sends the task and then its events, until it has ended or waits for a person. answered is the ask that was just answered: the
// task may show it for a moment.
func (a agent) stream(ctx context.Context, task *v1alpha1.AgentTask, answered string, yield func(a2a.Event, error) bool) {
	first := convert(task, nil, nil)
	if first.Status.State == a2a.TaskStateInputRequired {
		first.Status.State = a2a.TaskStateWorking // the ask follows, if it is still open
	}
	if !yield(first, nil) {
		return
	}
	s := streamed{task: first}
	for event, err := range a.caller.FollowTask(ctx, a.namespace, task.Name, run.Cursor{}) {
		if err != nil {
			yield(nil, failure(err))
			return
		}
		for _, out := range s.events(event, answered) {
			if !yield(out, nil) {
				return
			}
		}
		if event.Kind == run.End || event.Kind == run.Waiting && event.Ask.ID() != answered {
			return
		}
	}
}

// streamed is what was sent of a task.
type streamed struct {
	task a2a.TaskInfoProvider
	text string
	// void reports that the text is replaced by the next piece.
	void bool
}

// events converts an event of a run.
func (s *streamed) events(event run.Event, answered string) []a2a.Event {
	switch event.Kind {
	case run.Text:
		return []a2a.Event{s.add(event.Text, event.Begin)}
	case run.Replace:
		s.void = true
	case run.Working:
		return []a2a.Event{s.status(event.Task, nil)}
	case run.Waiting:
		if event.Ask.ID() != answered {
			return []a2a.Event{s.status(event.Task, event.Ask)}
		}
	case run.End:
		var out []a2a.Event
		if event.Answer != "" && event.Answer != s.text {
			out = append(out, s.add(event.Answer, true))
		}
		return append(out, s.status(event.Task, nil))
	}
	return nil
}

// add returns the update of the artifact for a piece of text.
func (s *streamed) add(text string, begin bool) *a2a.TaskArtifactUpdateEvent {
	info := s.task.TaskInfo()
	begin = begin || s.void || s.text == ""
	if begin {
		s.text = ""
	}
	s.text, s.void = s.text+text, false
	return &a2a.TaskArtifactUpdateEvent{TaskID: info.TaskID, ContextID: info.ContextID, Append: !begin,
		Artifact: &a2a.Artifact{ID: resultArtifact, Name: "result", Parts: a2a.ContentParts{a2a.NewTextPart(text)}}}
}

func (s *streamed) status(task *v1alpha1.AgentTask, ask *run.Ask) *a2a.TaskStatusUpdateEvent {
	info := s.task.TaskInfo()
	shown := status(task, ask)
	if ask == nil && !live.Ended(task.Status.Phase) {
		shown.State = a2a.TaskStateWorking
	}
	return &a2a.TaskStatusUpdateEvent{TaskID: info.TaskID, ContextID: info.ContextID, Status: shown}
}
