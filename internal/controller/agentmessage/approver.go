// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentmessage

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// checkSeparateApprover rejects a decision by a person who asked for the work, if the role of the call, or a policy,
// requires a separate approver. The call continues to wait. It returns the requesters, for the record.
func (r *Reconciler) checkSeparateApprover(ctx context.Context, owner client.Object, message *v1beta1.AgentMessage, ask agent.AskPerson) (agent.Requesters, *outcome, error) {
	if !ask.DenyRequesters {
		return agent.Requesters{}, nil, nil
	}
	if agent.IsServiceAccount(message.Spec.User) && !ask.AllowServiceAccounts {
		return agent.Requesters{}, rejected(v1beta1.ReasonRequesterDenied, "The role or a ToolPolicy of this call requires the decision of a second person, and %s is a service account. "+
			"A person must decide, or an administrator sets approval.allowServiceAccounts of the role.", message.Spec.User), nil
	}
	requesters, err := r.requesters(ctx, owner)
	switch {
	case err != nil:
		return requesters, nil, err
	case requesters.MayDecide(message.Spec.User):
		return requesters, nil, nil
	case !requesters.Known():
		return requesters, rejected(v1beta1.ReasonRequesterDenied, "The role or a ToolPolicy of this call requires an approver who did not request the work, and the requester is unknown: a message, or the task, has no spec.user. "+
			"Cancel the work, and request it again with clients that set it."), nil
	}
	return requesters, rejected(v1beta1.ReasonRequesterDenied, "The role or a ToolPolicy of this call requires an approver who did not request the work, and %s requested it. Another person must decide.", message.Spec.User), nil
}

// requesters returns the people who asked for the work of a chat or standalone task.
func (r *Reconciler) requesters(ctx context.Context, owner client.Object) (agent.Requesters, error) {
	uid := string(owner.GetUID())
	if chat, ok := owner.(*v1beta1.AgentChat); ok {
		state, _, err := r.Runner.State(ctx, uid)
		if err != nil {
			return agent.Requesters{}, fmt.Errorf("list the authors of the chat %s: %w", chat.Name, err)
		}
		if chat.Spec.User != "" {
			state.Requesters = state.Requesters.With(chat.Spec.User)
		}
		return r.authorsBelow(ctx, uid, state.Requesters)
	}
	task, ok := owner.(*v1beta1.AgentTask)
	if !ok {
		return agent.Requesters{}, fmt.Errorf("the requesters of a %T are unknown", owner)
	}
	requesters := agent.Requesters{}.With(task.Spec.User)
	if task.Spec.FireUser != "" {
		requesters = requesters.With(task.Spec.FireUser)
	}
	top, err := r.Runner.TaskUID(ctx, task)
	if err != nil {
		return requesters, err
	}
	return r.authorsBelow(ctx, top, requesters)
}

// authorsBelow adds the people who answered questions, or edited calls, of an agent or of the agents below it.
func (r *Reconciler) authorsBelow(ctx context.Context, top string, requesters agent.Requesters) (agent.Requesters, error) {
	record, err := r.Runner.Engine.Lookup(ctx, top)
	if err != nil {
		return requesters, fmt.Errorf("look up agent %s: %w", top, err)
	}
	below, err := r.treeOf(ctx, record)
	if err != nil {
		return requesters, err
	}
	for _, one := range append(below, record) {
		state, started, err := r.Runner.State(ctx, one.UID)
		if err != nil {
			return requesters, fmt.Errorf("list the people who wrote to %s: %w", one.Name, err)
		}
		if started {
			requesters = requesters.Merge(state.Requesters)
		}
	}
	return requesters, nil
}
