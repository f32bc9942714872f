// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/kubewatch"
	"github.com/nestor-dev/nestor/internal/view"
)

// FollowTask returns the events of a standalone task after a cursor until the task or ctx ends, even while the
// task waits. Without an error, the last event is End.
func (c *Caller) FollowTask(ctx context.Context, namespace, name string, from Cursor) iter.Seq2[Event, error] {
	return events(ctx, func(ctx context.Context, emit func(Event) error) error {
		f := &taskFollower{caller: c, namespace: namespace, name: name}
		f.stream = &eventStream{history: c.history(namespace), live: &taskText{}, cursor: from, skip: from.Offset, emit: emit}
		return f.run(ctx)
	})
}

type taskFollower struct {
	caller          *Caller
	namespace, name string
	stream          *eventStream
	entries         chan historyv1.Entry
	// waiting is the ID of the last emitted ask, or empty while the task works.
	waiting string
	// blocked is the last emitted reason why the task cannot start.
	blocked string
}

func (f *taskFollower) run(ctx context.Context) error {
	states, errs := f.caller.watchTask(ctx, f.namespace, f.name)
	for {
		select {
		case task := <-states:
			ended, err := f.update(ctx, task)
			if ended || err != nil {
				return err
			}
		case e := <-f.entries:
			if err := f.stream.handle(e); err != nil {
				return err
			}
		case err := <-errs:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// update emits the events of a new state of the task, and reports whether it has ended.
func (f *taskFollower) update(ctx context.Context, task *v1beta1.AgentTask) (ended bool, err error) {
	f.followTranscript(ctx, task)
	if view.Ended(task.Status.Phase) {
		return true, f.end(ctx, task)
	}
	if text := BlockedBy(task); text != "" && text != f.blocked {
		f.blocked = text
		return false, f.stream.emit(Event{Kind: Blocked, Cursor: f.stream.cursor, Task: task, Text: text})
	}
	ask, err := f.caller.OpenAsk(ctx, task)
	switch {
	case err != nil:
		return false, err
	case ask == nil && f.waiting != "":
		f.waiting = ""
		return false, f.stream.emit(Event{Kind: Working, Cursor: f.stream.cursor, Task: task})
	case ask == nil || ask.ID() == f.waiting:
		return false, nil
	}
	if err := f.stream.catchUp(ctx); err != nil {
		return false, err
	}
	f.waiting = ask.ID()
	return false, f.stream.emit(Event{Kind: Waiting, Cursor: f.stream.cursor, Task: task, Ask: ask})
}

// followTranscript starts reading the transcript as soon as the task has an agent.
func (f *taskFollower) followTranscript(ctx context.Context, task *v1beta1.AgentTask) {
	if f.stream.transcript != "" || task.Status.SubAgent == "" {
		return
	}
	f.stream.transcript = historyv1.TranscriptName("SubAgent", task.Status.SubAgent)
	f.entries = make(chan historyv1.Entry)
	go f.stream.follow(ctx, f.stream.cursor.Seq, f.entries)
}

func (f *taskFollower) end(ctx context.Context, task *v1beta1.AgentTask) error {
	if err := f.stream.catchUp(ctx); err != nil {
		return err
	}
	answer := Answer(task)
	outcome := f.stream.outcome
	if outcome == nil && f.stream.cursor.Seq > 0 {
		outcome = f.stream.lastOutcome(ctx) // the cursor is after it
	}
	if outcome != nil && outcome.Result != "" {
		answer = outcome.Result
	} else if err := f.stream.extend(answer); err != nil {
		return err
	}
	return f.stream.emit(Event{Kind: End, Cursor: f.stream.cursor, Task: task, Answer: answer, Outcome: outcome})
}

// Answer returns the answer in the status of a task, which may be shortened.
func Answer(task *v1beta1.AgentTask) string {
	result := task.Status.Result
	if result == nil {
		return ""
	}
	return strings.TrimSpace(result.Summary + "\n\n" + result.Details)
}

// taskText reads the answer of a task: the result in the first call of submit_result.
type taskText struct {
	modelCall string
	submits   bool
	index     int32 // of the call
	partial   partialResult
}

func (t *taskText) add(e historyv1.Entry) string {
	if e.ModelCall != t.modelCall {
		*t = taskText{modelCall: e.ModelCall}
	}
	delta := e.Delta.ToolCall
	if delta == nil {
		return ""
	}
	if delta.Tool == agent.ToolSubmit && !t.submits {
		t.index, t.submits = delta.Index, true
	}
	if !t.submits || delta.Index != t.index {
		return ""
	}
	return t.partial.add(delta.Arguments)
}

func (t *taskText) recordedText(e historyv1.Entry) string {
	if e.Outcome == nil {
		return ""
	}
	return e.Outcome.Result
}

// watchTask sends the current state of a task and then the newest one after each change. A task that is deleted, or
// that the caller may not read, is an error.
func (c *Caller) watchTask(ctx context.Context, namespace, name string) (<-chan *v1beta1.AgentTask, <-chan error) {
	states := make(chan *v1beta1.AgentTask, 1)
	errs := make(chan error, 1)
	go func() {
		// A watch that is forbidden is retried without an error, so the task is read first.
		if _, err := c.Task(ctx, namespace, name); err != nil {
			errs <- err
			return
		}
		task := &v1beta1.AgentTask{}
		task.Namespace, task.Name = namespace, name
		_, err := kubewatch.Until(ctx, c.API, task, &v1beta1.AgentTaskList{}, func(t *v1beta1.AgentTask) bool {
			select {
			case <-states: // replace a state that is not read yet
			default:
			}
			states <- t
			return view.Ended(t.Status.Phase)
		})
		if errors.Is(err, kubewatch.ErrDeleted) {
			err = fmt.Errorf("the task %s was deleted before it ended: %w", name, err)
		}
		if err != nil {
			errs <- err
		}
	}()
	return states, errs
}
