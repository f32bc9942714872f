// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentmessage

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// verdict is what became of a message.
type verdict struct {
	phase         v1alpha1.MessagePhase
	reason, words string
}

func handled() verdict {
	return verdict{v1alpha1.MessageHandled, v1alpha1.ReasonHandled, "The message did what it says."}
}

// posted is what became of a message of the operator's own: it is there to be read.
func posted() verdict {
	return verdict{v1alpha1.MessageHandled, v1alpha1.ReasonHandled, "The message was posted for the user to read."}
}

func pending(reason, words string) verdict { return verdict{v1alpha1.MessagePending, reason, words} }

// notFound is what becomes of a message before its chat or task exists.
func notFound(message *v1alpha1.AgentMessage) verdict {
	if message.Spec.Task != "" {
		return pending(v1alpha1.ReasonTaskNotFound, fmt.Sprintf("The message waits until the AgentTask %q exists in this namespace.", message.Spec.Task))
	}
	return pending(v1alpha1.ReasonChatNotFound, fmt.Sprintf("The message waits until the AgentChat %q exists in this namespace.", message.Spec.Chat))
}

func rejected(reason, format string, args ...any) *verdict {
	return &verdict{v1alpha1.MessageRejected, reason, fmt.Sprintf(format, args...)}
}

func ptr(v verdict) *verdict { return &v }

func (r *Reconciler) settle(ctx context.Context, message *v1alpha1.AgentMessage, v verdict) error {
	return r.Runner.SettleMessage(ctx, message, v.phase, v.reason, v.words)
}

// target is the agent or tool run that a message is about. It must belong to the message's chat or task.
func (r *Reconciler) target(ctx context.Context, message *v1alpha1.AgentMessage, name string) (string, agent.State, *verdict, error) {
	var task v1alpha1.AgentTask
	key := types.NamespacedName{Namespace: message.Namespace, Name: name}
	if err := r.Runner.Find(ctx, key, &task); client.IgnoreNotFound(err) != nil {
		return "", agent.State{}, nil, fmt.Errorf("get task %s: %w", key, err)
	}
	if task.UID == "" || task.Spec.Chat != message.Spec.Chat {
		return "", agent.State{}, rejected(v1alpha1.ReasonTaskNotFound, "There is no task %q here.", name), nil
	}
	uid, err := r.Runner.TaskUID(ctx, key)
	if err != nil {
		return "", agent.State{}, nil, err
	}
	// What is refused for good must not be refused because of what was true a moment ago.
	if err := r.Runner.Engine.Refresh(ctx, uid); err != nil {
		return "", agent.State{}, nil, err
	}
	state, begun, err := r.Runner.State(ctx, uid)
	switch {
	case err != nil:
		return "", agent.State{}, nil, err
	case !begun:
		return "", agent.State{}, rejected(v1alpha1.ReasonNotWaiting, "The task %q has not begun.", name), nil
	case state.Heard(message.Name): // and whoever delivered it could not say so
		return "", agent.State{}, ptr(handled()), nil
	case state.Phase.Terminal():
		return "", agent.State{}, rejected(v1alpha1.ReasonTaskFinished, "The task %q has ended already.", name), nil
	}
	return uid, state, nil, nil
}

// decide decides about one call, and no other.
func (r *Reconciler) decide(ctx context.Context, message *v1alpha1.AgentMessage) (*verdict, error) {
	approval := message.Spec.Approval
	uid, state, no, err := r.target(ctx, message, approval.Task)
	if no != nil || err != nil {
		return no, err
	}
	call := approval.ToolCall
	if state.Config.Kind == agent.ToolRun && call == "" {
		call = state.Config.Name
	}
	undecided := asks(state, agent.AskApproval)
	switch {
	case len(undecided) == 0:
		return rejected(v1alpha1.ReasonNotWaiting, "The task %q does not wait for an approval.", approval.Task), nil
	case !undecided[call]:
		return rejected(v1alpha1.ReasonWrongToolCall, "The task %q does not wait for a decision on the call %q.", approval.Task, approval.ToolCall), nil
	}
	fact := agent.Decided{Call: call, Approve: approval.Decision == v1alpha1.DecisionApprove, Comment: approval.Comment, By: message.Spec.User, Message: message.Name}
	return ptr(handled()), r.Runner.Engine.Record(ctx, uid, fact)
}

// answer answers the question of a standalone task.
func (r *Reconciler) answer(ctx context.Context, message *v1alpha1.AgentMessage) (*verdict, error) {
	uid, state, no, err := r.target(ctx, message, message.Spec.Task)
	if no != nil || err != nil {
		return no, err
	}
	for call := range asks(state, agent.AskQuestion) {
		return ptr(handled()), r.Runner.Engine.Record(ctx, uid, agent.Answered{Call: call, Text: message.Spec.Content, Message: message.Name})
	}
	return rejected(v1alpha1.ReasonNotWaiting, "The task %q has asked nothing.", message.Spec.Task), nil
}

// cancel stops a task, or all the work of a chat or standalone task.
func (r *Reconciler) cancel(ctx context.Context, owner client.Object, message *v1alpha1.AgentMessage) (*verdict, error) {
	name := message.Spec.Cancel.Task
	if name == "" && message.Spec.Chat != "" {
		return nil, r.Runner.Engine.Deliver(string(owner.GetUID()), agent.Cancelled{Message: message.Name, By: message.Spec.User})
	}
	if name == "" {
		name = message.Spec.Task
	}
	_, _, no, err := r.target(ctx, message, name)
	if err != nil || (no != nil && no.reason != v1alpha1.ReasonNotWaiting) {
		return no, err
	}
	var task v1alpha1.AgentTask
	if err := r.Runner.Find(ctx, types.NamespacedName{Namespace: message.Namespace, Name: name}, &task); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return ptr(handled()), r.Runner.Cancel(ctx, &task)
}

// asks are the calls for which an agent needs a person.
func asks(s agent.State, kind agent.AskKind) map[string]bool {
	calls := map[string]bool{}
	for _, e := range agent.Outstanding(s) {
		if ask, ok := e.(agent.AskPerson); ok && ask.Kind == kind {
			calls[ask.Call] = true
		}
	}
	return calls
}
