// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

type session struct {
	owner     *Client
	client    *a2aclient.Client
	streaming bool
	req       model.Request
	conversation
	listen func(model.Delta)

	progress progress
}

func newSession(owner *Client, client *a2aclient.Client, streaming bool, req model.Request) *session {
	return &session{owner: owner, client: client, streaming: streaming, req: req, conversation: readConversation(req)}
}

func (s *session) complete(ctx context.Context) (model.Reply, error) {
	if s.partial {
		return s.partialAnswer(ctx)
	}
	task, err := s.find(ctx)
	if err != nil {
		return model.Reply{}, err
	}
	if task != nil {
		s.accept(task)
	} else if err := s.send(ctx); err != nil {
		return model.Reply{}, err
	}
	if err := s.follow(ctx); err != nil {
		return model.Reply{}, err
	}
	return s.progress.reply(s.req)
}

// find returns the task that an earlier attempt of this call has started or answered, or nil.
func (s *session) find(ctx context.Context) (*a2a.Task, error) {
	if s.last.Open {
		task, err := s.get(ctx, s.last.Task)
		if err != nil || !s.delivered(task) {
			return nil, err
		}
		return task, nil
	}
	tasks, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		if !slices.Contains(s.tasks, task.ID) {
			return s.get(ctx, task.ID) // the list may leave out artifacts
		}
	}
	return nil, nil
}

// list returns the tasks of the conversation; none if the remote agent does not list tasks.
func (s *session) list(ctx context.Context) ([]*a2a.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	response, err := s.client.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: s.message.ContextID, PageSize: 100})
	var reported *a2a.Error
	if errors.As(err, &reported) && !errors.Is(err, a2a.ErrInternalError) && !errors.Is(err, a2a.ErrServerError) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// A server may ignore the filter.
	return slices.DeleteFunc(response.Tasks, func(t *a2a.Task) bool { return t == nil || t.ID == "" || t.ContextID != s.message.ContextID }), nil
}

func (s *session) get(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	task, err := s.client.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
	if err == nil && task.ID != id {
		return nil, wire.Malformed("the remote agent answered with another task")
	}
	return task, err
}

// send sends the message, and follows the stream of events if there is one.
func (s *session) send(ctx context.Context) error {
	s.progress.answered = s.last.Question
	req := &a2a.SendMessageRequest{Message: s.message, Config: &a2a.SendMessageConfig{AcceptedOutputModes: []string{"text/plain", "application/json"}}}
	if !s.streaming {
		// A question without an id cannot be distinguished from the next one in a task that is read at once.
		req.Config.ReturnImmediately = !s.last.Open || s.last.Question != ""
		result, err := s.client.SendMessage(ctx, req)
		if err != nil {
			return err
		}
		return s.apply(result)
	}
	err := s.consume(ctx, func(ctx context.Context) iter.Seq2[a2a.Event, error] { return s.client.SendStreamingMessage(ctx, req) })
	if err != nil && s.progress.task.ID != "" && ctx.Err() == nil && !isFinal(err) {
		return nil // the task has started: follow reads its state
	}
	return err
}

// consume applies the events of a stream. It ends without an error when the stream ends or is silent for too long.
func (s *session) consume(ctx context.Context, open func(context.Context) iter.Seq2[a2a.Event, error]) error {
	streaming, stop := context.WithCancel(ctx)
	defer stop()
	silent := time.AfterFunc(s.owner.idle, stop)
	defer silent.Stop()
	for event, err := range open(streaming) {
		if err != nil && streaming.Err() != nil && ctx.Err() == nil && s.progress.task.ID != "" {
			return nil // it was silent
		}
		if err != nil {
			return err
		}
		silent.Reset(s.owner.idle)
		if err := s.apply(event); err != nil {
			return err
		}
		if s.progress.done() {
			return nil
		}
	}
	return ctx.Err()
}

func (s *session) apply(event a2a.Event) error {
	if err := s.progress.apply(event); err != nil {
		return err
	}
	if id := s.progress.task.ID; id != "" {
		s.owner.remember(s.req.Conversation, id)
	}
	delta, err := s.progress.delta()
	if err != nil {
		return err
	}
	if s.listen != nil && delta != (model.Delta{}) {
		s.listen(delta)
	}
	return nil
}

func (s *session) accept(task *a2a.Task) { _ = s.apply(task) } // reply reports the error again

// follow waits until the task has ended or needs input.
func (s *session) follow(ctx context.Context) error {
	for wait := s.owner.poll; !s.progress.done(); wait = min(2*wait, maxPoll) {
		id := s.progress.task.ID
		if id == "" {
			return wire.Truncated()
		}
		if s.streaming {
			err := s.consume(ctx, func(ctx context.Context) iter.Seq2[a2a.Event, error] {
				return s.client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id})
			})
			if err != nil && (ctx.Err() != nil || isFinal(err)) {
				return err
			}
			if s.progress.done() {
				return nil
			}
		}
		// Without a subscription, or after its end, the state is read.
		task, err := s.get(ctx, id)
		if err != nil {
			return err
		}
		if err := s.apply(task); err != nil || s.progress.done() {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
	return nil
}

// isFinal reports whether an error must end the call although the task continues.
func isFinal(err error) bool {
	var typed *model.Error
	return errors.As(err, &typed) && (!typed.Retryable() || typed.Kind == model.Oversized)
}

// partialAnswer cancels the task and returns what it has made so far.
func (s *session) partialAnswer(ctx context.Context) (model.Reply, error) {
	open, err := s.unfinished(ctx)
	if err != nil {
		return model.Reply{}, err
	}
	for _, id := range open {
		task, err := s.get(ctx, id)
		if err != nil {
			return model.Reply{}, err
		}
		s.accept(task)
	}
	if err := s.cancelAll(ctx, open); err != nil && !errors.Is(err, errNotCancelled) {
		return model.Reply{}, err
	}
	text, err := s.progress.text()
	return model.Reply{Text: cmp.Or(text, "The remote agent has given no partial answer."), FinishReason: model.FinishStop}, err
}

// cancel cancels the unfinished tasks of the conversation.
func (s *session) cancel(ctx context.Context) error {
	open, err := s.unfinished(ctx)
	if err != nil {
		return err
	}
	return s.cancelAll(ctx, open)
}

func (s *session) unfinished(ctx context.Context) ([]a2a.TaskID, error) {
	tasks, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	var open []a2a.TaskID
	for _, task := range tasks {
		if !task.Status.State.Terminal() {
			open = append(open, task.ID)
		}
	}
	if s.last.Open && !slices.Contains(open, s.last.Task) {
		open = append(open, s.last.Task)
	}
	if id := s.owner.remembered(s.req.Conversation); id != "" && !slices.Contains(open, id) {
		open = append(open, id)
	}
	return open, nil
}

// errNotCancelled means that a task is still open after the remote agent received a cancel request.
var errNotCancelled = errors.New("the remote agent did not cancel the task")

const (
	cancelAttempts = 5
	cancelPause    = 100 * time.Millisecond
)

func (s *session) cancelAll(ctx context.Context, tasks []a2a.TaskID) error {
	var errs []error
	for _, id := range tasks {
		errs = append(errs, s.cancelTask(ctx, id))
	}
	return errors.Join(errs...)
}

// cancelTask cancels a task, and repeats this if the agent fails or the task is still open: just after a question, an
// agent may refuse a cancel for a moment.
func (s *session) cancelTask(ctx context.Context, id a2a.TaskID) error {
	for attempt, pause := 1, cancelPause; ; attempt, pause = attempt+1, 2*pause {
		limited, cancel := context.WithTimeout(ctx, requestTimeout)
		task, err := s.client.CancelTask(limited, &a2a.CancelTaskRequest{ID: id})
		cancel()
		if errors.Is(err, a2a.ErrTaskNotCancelable) { // it has ended, or it continues
			task, err = s.get(ctx, id)
		}
		switch {
		case errors.Is(err, a2a.ErrTaskNotFound):
			return nil
		case err != nil && (attempt == cancelAttempts || isFinal(err) || ctx.Err() != nil):
			return err
		case err != nil: // again after the pause
		case task.Status.State.Terminal():
			return nil
		case attempt == cancelAttempts:
			return fmt.Errorf("%w: its state is %s", errNotCancelled, task.Status.State)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
