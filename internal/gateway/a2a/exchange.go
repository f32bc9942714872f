// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"context"
	"errors"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/view"
)

// exchange is what a request follows: a standalone task, or a turn of a chat.
type exchange struct {
	task *v1beta1.AgentTask
	turn *turn
	// answered is the ask that the request has answered. The status of the run may still contain it for a moment.
	answered string
	// message is the AgentMessage of the request: the answer to a task, or a message in a chat.
	message string
	// from is the position in the chat's history.
	from run.Cursor
}

func (x exchange) TaskInfo() a2a.TaskInfo {
	if x.turn != nil {
		return x.turn.TaskInfo()
	}
	return a2a.TaskInfo{TaskID: a2a.TaskID(x.task.Name), ContextID: contextOf(x.task)}
}

func (a agent) events(ctx context.Context, x exchange) iter.Seq2[run.Event, error] {
	if x.turn != nil {
		return a.caller.FollowChat(ctx, a.namespace, x.turn.chat.Name, x.message, x.from)
	}
	return a.caller.FollowTask(ctx, a.namespace, x.task.Name, run.Cursor{})
}

// follow returns the events of the run until it has ended or waits for a person. If the answer of the request is
// rejected and the run still waits, the last event is Waiting with the reason as its text.
func (a agent) follow(ctx context.Context, x exchange) iter.Seq2[run.Event, error] {
	return func(yield func(run.Event, error) bool) {
		watched, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		if x.task != nil && x.message != "" {
			go func() {
				if rejected := a.caller.WaitForRejection(watched, a.namespace, x.message); rejected != nil {
					stop(rejected)
				}
			}()
		}
		for event, err := range a.events(watched, x) {
			rejected := rejectionOf(watched, event, err)
			ofChat := err == nil && event.Kind == run.End && event.Progress == view.Rejected && x.turn != nil
			if rejected == nil && ofChat && x.message != x.turn.message.Name {
				rejected = a.readRejection(ctx, x.message)
			}
			if rejected != nil {
				a.afterRejection(ctx, x, rejected, yield)
				return
			}
			if err == nil && event.Kind == run.Waiting && event.Ask.ID() == x.answered {
				continue
			}
			if !yield(event, err) || err != nil || event.Kind == run.Waiting || event.Kind == run.End {
				return
			}
		}
	}
}

// rejectionOf returns the rejection that ended the events, or nil.
func rejectionOf(watched context.Context, event run.Event, err error) *run.RejectedError {
	var rejected *run.RejectedError
	if err != nil && errors.As(context.Cause(watched), &rejected) && event.Kind != run.End {
		return rejected
	}
	return nil
}

// readRejection returns why a chat rejected a message.
func (a agent) readRejection(ctx context.Context, message string) *run.RejectedError {
	if rejected := a.caller.WaitForRejection(ctx, a.namespace, message); rejected != nil {
		return rejected
	}
	return &run.RejectedError{Reason: "Rejected", Message: "kubectl get agentmessages shows why"}
}

// afterRejection reports that the run still waits, because the answer of the request was rejected. If another person
// has answered meanwhile, it follows the run.
func (a agent) afterRejection(ctx context.Context, x exchange, rejected *run.RejectedError, yield func(run.Event, error) bool) {
	var ask *run.Ask
	var err error
	if x.turn != nil {
		var open []run.Ask
		open, err = a.chatAsks(ctx, x.turn.chat.Name)
		ask = first(open)
	} else if x.task, err = a.caller.Task(ctx, a.namespace, x.task.Name); err == nil {
		ask, err = a.caller.OpenAsk(ctx, x.task)
	}
	switch {
	case err != nil:
		yield(run.Event{}, err)
		return
	case ask != nil:
		yield(run.Event{Kind: run.Waiting, Task: x.task, Ask: ask, Text: rejected.Error()}, nil)
		return
	}
	x.message = ""
	if x.turn != nil {
		x.message = x.turn.message.Name
	}
	a.follow(ctx, x)(yield)
}

// finished returns the A2A task after the last event of an exchange.
func (a agent) finished(ctx context.Context, x exchange, event run.Event) (*a2a.Task, error) {
	if x.turn != nil {
		t, err := a.turn(ctx, x.TaskInfo().TaskID)
		if err != nil {
			return nil, err
		}
		shown := t.show(t.after(event), nil)
		shown.Artifacts = artifacts(t.text())
		return shown, nil
	}
	shown := convert(event.Task, event.Ask, nil)
	if event.Kind == run.End {
		shown.Artifacts = taskArtifacts(event.Answer, event.Task, event.Outcome)
	} else {
		shown.Status.Message = askMessage(x.TaskInfo(), event.Ask, event.Text)
	}
	return shown, nil
}

func (t *turn) after(event run.Event) a2a.TaskStatus {
	switch event.Kind {
	case run.Waiting:
		s := t.status(a2a.TaskStateInputRequired, "", event.Ask)
		s.Message = askMessage(t.TaskInfo(), event.Ask, event.Text)
		return s
	case run.End:
		state, note := t.outcome(event.Progress)
		return t.status(state, note, nil)
	}
	return t.status(a2a.TaskStateWorking, "", nil)
}

// stream sends the task and then its events, until it has ended or waits for a person.
func (a agent) stream(ctx context.Context, x exchange, yield func(a2a.Event, error) bool) {
	s := &streamed{exchange: x}
	if !yield(s.first(), nil) {
		return
	}
	for event, err := range a.follow(ctx, x) {
		if err != nil {
			yield(nil, failure(err))
			return
		}
		if x.turn != nil && (event.Kind == run.Waiting || event.Kind == run.End) {
			// The events have no text if the caller may not read the history, so the replies are read from the messages.
			if s.turn, err = a.turn(ctx, x.TaskInfo().TaskID); err != nil {
				yield(nil, err)
				return
			}
			event.Answer = s.turn.text()
		}
		for _, out := range s.events(event) {
			if !yield(out, nil) {
				return
			}
		}
	}
}
