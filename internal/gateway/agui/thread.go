// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/view"
)

var notAcceptable = metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
	Message: "the events of a run are sent as text/event-stream",
}

// thread is the conversation of a request: the tasks of a role that the caller started with the same threadId. Other
// users can answer its interrupts, because their requests name the task.
type thread struct {
	runs            runs
	in              *input
	namespace, role string
}

// start is where a stream begins.
type start struct {
	task *v1beta1.AgentTask
	from run.Cursor
	// created reports that the request created the task.
	created bool
	// answered is the reference of the ask that the request answered.
	answered string
	// stale reports that the request answers an ask that is no longer open.
	stale bool
}

// open finds or starts the run of a request.
func (t *thread) open(ctx context.Context) (start, error) {
	if len(t.in.Resume) > 0 {
		return t.resume(ctx, t.in.Resume[0])
	}
	if entry, ok := t.in.typedReply(); ok {
		return t.resume(ctx, entry)
	}
	instruction, err := t.in.instruction()
	if err != nil {
		return start{}, apierrors.NewBadRequest(err.Error())
	}
	tasks, err := t.tasks(ctx)
	if err != nil {
		return start{}, err
	}
	request := run.Request{
		Namespace: t.namespace, Role: t.role, Instruction: instruction, Door: doorName,
		Key:         t.label() + "/" + digest(t.in.RunID),
		Labels:      map[string]string{v1beta1.LabelConversation: t.label()},
		Annotations: map[string]string{v1beta1.AnnotationRun: t.in.RunID},
	}
	if i := slices.IndexFunc(tasks, func(task v1beta1.AgentTask) bool { return task.Annotations[v1beta1.AnnotationRun] == t.in.RunID }); i >= 0 {
		if tasks[i].Spec.Instruction != instruction {
			return start{}, run.ErrKeyReused
		}
		return start{task: &tasks[i]}, nil
	}
	if len(tasks) > 0 {
		last := &tasks[len(tasks)-1]
		if !view.Ended(last.Status.Phase) {
			return t.join(ctx, last)
		}
		if last.Status.Phase == v1beta1.TaskSuccess {
			request.ContinueFrom = last.Status.SubAgent
		}
	}
	task, created, err := t.runs.Start(ctx, request)
	return start{task: task, created: created}, err
}

func (t *thread) label() string { return digest(doorName + "/" + t.in.ThreadID) }

// tasks returns the tasks of the thread, oldest first.
func (t *thread) tasks(ctx context.Context) ([]v1beta1.AgentTask, error) {
	tasks, err := t.runs.Tasks(ctx, t.namespace, labels.SelectorFromSet(labels.Set{v1beta1.LabelConversation: t.label()}))
	if err != nil {
		return nil, err
	}
	tasks = slices.DeleteFunc(tasks, func(task v1beta1.AgentTask) bool { return task.Spec.Role != t.role || task.Spec.Chat != "" })
	slices.SortFunc(tasks, func(a, b v1beta1.AgentTask) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return tasks, nil
}

// join follows a run that waits for a person, so that the client receives its interrupt. A run that works cannot take
// a message.
func (t *thread) join(ctx context.Context, task *v1beta1.AgentTask) (start, error) {
	ask, err := t.runs.OpenAsk(ctx, task)
	if err != nil {
		return start{}, err
	}
	if ask == nil {
		return start{}, apierrors.NewConflict(v1beta1.GroupVersion.WithResource("agenttasks").GroupResource(), task.Name,
			errors.New("this thread has a run that works: wait for its end, or repeat its runId to follow it"))
	}
	return start{task: task}, nil
}

// resume answers an interrupt, and returns the position after it.
func (t *thread) resume(ctx context.Context, entry resumeEntry) (start, error) {
	where, err := parsePosition(entry.InterruptID)
	if err != nil {
		return start{}, apierrors.NewBadRequest(err.Error())
	}
	task, err := t.runs.Task(ctx, t.namespace, where.task)
	if err != nil {
		return start{}, err
	}
	if task.Labels[v1beta1.LabelConversation] != t.label() || task.Spec.Role != t.role {
		return start{}, apierrors.NewBadRequest(fmt.Sprintf("the interrupt %q is not from this thread", entry.InterruptID))
	}
	at := start{task: task, from: where.cursor, answered: where.ask}
	ask, err := t.runs.OpenAsk(ctx, task)
	if err != nil {
		return at, err
	}
	key := digest(where.ask) + "/" + digest(t.in.RunID)
	if ask == nil || ask.Ref() != where.ask { // it was answered before, by an earlier attempt of this request or elsewhere
		_, repeated, err := t.runs.HasAnswered(ctx, t.namespace, task.Name, key)
		at.stale = !repeated
		return at, err
	}
	return at, t.answer(ctx, where, *ask, entry, key)
}

// answer sends the answer to an ask. The key follows from the ask and the run, so that a repeated request sends
// nothing twice.
func (t *thread) answer(ctx context.Context, where position, ask run.Ask, entry resumeEntry, key string) error {
	decide := func(d run.Decision) error {
		d.Shown = where.ask
		_, err := t.runs.Decide(ctx, ask, d, key)
		return err
	}
	switch {
	case entry.Status == statusCancelled && ask.IsApproval():
		return decide(run.Decision{Comment: "The request was dismissed."})
	case entry.Status == statusCancelled:
		return t.runs.Cancel(ctx, t.namespace, where.task, key)
	case entry.Status != statusResolved:
		return apierrors.NewBadRequest(fmt.Sprintf("the status of a resume entry is %q or %q, not %q", statusResolved, statusCancelled, entry.Status))
	case ask.IsApproval():
		decision, err := decisionOf(entry.Payload)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		return decide(decision)
	}
	text, err := answerOf(entry.Payload)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return t.runs.Answer(ctx, ask, text, key)
}
