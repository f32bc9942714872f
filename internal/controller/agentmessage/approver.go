// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentmessage

import (
	"context"

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
	requesters, err := r.Runner.Requesters(ctx, owner)
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
