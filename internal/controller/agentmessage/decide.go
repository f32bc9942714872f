// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentmessage

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/agents"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/projection"
)

// outcome is the result of handling a message.
type outcome struct {
	phase           v1beta1.MessagePhase
	reason, message string
}

func handled() outcome {
	return outcome{v1beta1.MessageHandled, v1beta1.ReasonHandled, "The message was carried out."}
}

// posted returns the outcome of a message that the operator wrote for the user.
func posted() outcome {
	return outcome{v1beta1.MessageHandled, v1beta1.ReasonHandled, "The message was posted for the user to read."}
}

// taken returns the outcome of a message that a turn of the orchestrator has taken.
func taken() outcome {
	return outcome{v1beta1.MessageHandled, v1beta1.ReasonHandled, "The message was taken into a turn."}
}

func pending(reason, text string) outcome { return outcome{v1beta1.MessagePending, reason, text} }

// notFound returns the outcome of a message whose chat or task does not exist.
func notFound(message *v1beta1.AgentMessage) outcome {
	if message.Spec.StandaloneTask() != "" {
		return pending(v1beta1.ReasonTaskNotFound, fmt.Sprintf("The message waits until the AgentTask %q exists in this namespace.", message.Spec.StandaloneTask()))
	}
	return pending(v1beta1.ReasonChatNotFound, fmt.Sprintf("The message waits until the AgentChat %q exists in this namespace.", message.Spec.Chat))
}

func rejected(reason, format string, args ...any) *outcome {
	return &outcome{v1beta1.MessageRejected, reason, fmt.Sprintf(format, args...)}
}

// writeStatus writes the outcome of a message to its status, if it changed.
func (r *Reconciler) writeStatus(ctx context.Context, message *v1beta1.AgentMessage, v outcome) error {
	next := projection.Message(message, v.phase, v.reason, v.message, agents.Now())
	if equality.Semantic.DeepEqual(message.Status, next) {
		return nil
	}
	message.Status = next
	return status.Update(ctx, r.Client, message)
}

// target finds the agent or tool run of the task that a message names. The task must be the message's own task, or
// belong to the tree of its chat or task.
func (r *Reconciler) target(ctx context.Context, owner client.Object, message *v1beta1.AgentMessage, name string) (*target, *outcome, error) {
	none := rejected(v1beta1.ReasonTaskNotFound, "There is no task %q here.", name)
	if addressed, ok := owner.(*v1beta1.AgentTask); ok && addressed.Spec.Chat != "" {
		return nil, none, nil // the objects of a chat are addressed through the chat
	}
	tree, err := r.Runner.Gather(ctx, owner, name)
	if err != nil {
		return nil, nil, err
	}
	task := tree.Task(name)
	if task == nil || !tree.IsWithin(task, owner) { // two standalone trees are separate although neither has a chat
		return nil, none, nil
	}
	result := &target{task: *task.DeepCopy(), uid: tree.AgentUID(task)}
	started := false
	if result.uid != "" {
		result.state, started, err = r.Runner.State(ctx, result.uid)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case !started:
		return result, rejected(v1beta1.ReasonNotWaiting, "The task %q has not started.", name), nil
	case result.state.HasHandled(message.Name): // it was delivered, but the status was not written
		return nil, new(handled()), nil
	case result.state.Phase.Terminal():
		// An agent below may have recorded the message before the task ended.
		if _, recorded, err := r.asksBelow(ctx, result.uid, message); err != nil || recorded {
			return nil, new(handled()), err
		}
		return nil, rejected(v1beta1.ReasonTaskFinished, "The task %q has ended already.", name), nil
	}
	return result, nil, nil
}

// target is the agent or tool run that a message refers to.
type target struct {
	task  v1beta1.AgentTask
	uid   string
	state agent.State
}

// decide applies a decision to exactly one call.
func (r *Reconciler) decide(ctx context.Context, owner client.Object, message *v1beta1.AgentMessage) (*outcome, error) {
	approval := message.Spec.Approval
	if approval.Allow != nil {
		if recorded, err := r.hasRecorded(ctx, owner, message); recorded || err != nil {
			return new(handled()), err
		}
	}
	about, rejection, err := r.target(ctx, owner, message, approval.Task)
	if rejection != nil || err != nil {
		return rejection, err
	}
	uid, state := about.uid, about.state
	call := approval.ToolCall
	undecided := asks(state, agent.AskApproval)
	if state.Config.Kind == agent.ToolRun && call == "" {
		call = state.Config.Name // a run is one call; if it is asked again, the decision must name the new ask
	}
	ask, waits := undecided[call]
	if !waits && call != "" && message.Spec.StandaloneTask() == approval.Task {
		below, recorded, err := r.asksBelow(ctx, uid, message)
		if recorded || err != nil {
			return new(handled()), err
		}
		for _, b := range below {
			if b.Kind == agent.AskApproval && b.Call == call {
				uid, ask, waits = b.Agent.UID, b.AskPerson, true
				undecided[call] = ask
				break
			}
		}
	}
	switch {
	case len(undecided) == 0:
		return rejected(v1beta1.ReasonNotWaiting, "The task %q does not wait for an approval.", approval.Task), nil
	case !waits:
		return rejected(v1beta1.ReasonWrongToolCall, "The task %q does not wait for a decision on the call %q.", approval.Task, call), nil
	case approval.ArgumentsDigest != "" && approval.ArgumentsDigest != ask.Digest():
		return rejected(v1beta1.ReasonDigestMismatch, "The decision is for other arguments than those of the waiting call of the task %q: read the call again, and decide again.", approval.Task), nil
	}
	requesters, rejection, err := r.checkSeparateApprover(ctx, owner, message, ask)
	if rejection != nil || err != nil {
		return rejection, err
	}
	if approval.Allow != nil {
		return r.allow(ctx, owner, message, uid, ask)
	}
	if rejection, err := r.checkEdit(ctx, uid, message, ask); rejection != nil || err != nil {
		return rejection, err
	}
	fact := agent.Decided{
		Requesters: requesters,
		Call:       call, Approve: approval.Decision == v1beta1.DecisionApprove, Comment: approval.Comment, Digest: approval.ArgumentsDigest,
		User: message.Spec.User, Message: message.Name,
	}
	if approval.Arguments != "" {
		fact.Arguments, fact.EditedDigest = approval.Arguments, agent.CallDigest(ask.Tool, approval.Arguments)
	}
	return new(handled()), r.record(ctx, uid, fact)
}

// answer answers the question of a standalone task, or one of the agents below it: the question that the task shows, or
// the oldest.
func (r *Reconciler) answer(ctx context.Context, owner client.Object, message *v1beta1.AgentMessage) (*outcome, error) {
	about, rejection, err := r.target(ctx, owner, message, message.Spec.StandaloneTask())
	if rejection != nil || err != nil {
		return rejection, err
	}
	read, rejection, err := r.readContent(ctx, message)
	if rejection != nil || err != nil {
		return rejection, err
	}
	for call := range asks(about.state, agent.AskQuestion) {
		return new(handled()), r.record(ctx, about.uid, answered(call, message, read), read.stored...)
	}
	below, recorded, err := r.asksBelow(ctx, about.uid, message)
	if recorded || err != nil {
		return new(handled()), err
	}
	for _, ask := range agents.ShownFirst(below, about.task.Status.Waiting) {
		if ask.Kind == agent.AskQuestion {
			return new(handled()), r.record(ctx, ask.Agent.UID, answered(ask.Call, message, read), read.stored...)
		}
	}
	return rejected(v1beta1.ReasonNotWaiting, "The task %q has no open question.", message.Spec.StandaloneTask()), nil
}

// answered returns the fact that a message answers a question.
func answered(call string, message *v1beta1.AgentMessage, read content) agent.Answered {
	return agent.Answered{Call: call, Text: read.text, Images: read.images, Labels: read.labels, Message: message.Name, User: message.Spec.User, Unnamed: message.Spec.User == ""}
}

// cancel cancels a task, or all the work of a chat or standalone task.
func (r *Reconciler) cancel(ctx context.Context, owner client.Object, message *v1beta1.AgentMessage) (*outcome, error) {
	name := message.Spec.Cancel.Task
	if name == "" && message.Spec.Chat != "" {
		return nil, r.Runner.Engine.Deliver(string(owner.GetUID()), agent.Cancelled{Message: message.Name, User: message.Spec.User})
	}
	if name == "" {
		name = message.Spec.StandaloneTask()
	}
	about, rejection, err := r.target(ctx, owner, message, name)
	if err != nil || about == nil {
		return rejection, err
	}
	if err := r.Runner.Cancel(ctx, &about.task, message.Spec.User); err != nil || rejection != nil {
		return new(handled()), err // one that has not started reads spec.cancel
	}
	return new(handled()), r.record(ctx, about.uid, agent.Cancelled{Message: message.Name, User: agents.CancelledBy(&about.task)})
}

// asks returns the asks of an agent of one kind, by tool call.
func asks(s agent.State, kind agent.AskKind) map[string]agent.AskPerson {
	calls := map[string]agent.AskPerson{}
	for _, ask := range agent.PendingAsks(s) {
		if ask.Kind == kind {
			calls[ask.Call] = ask
		}
	}
	return calls
}
