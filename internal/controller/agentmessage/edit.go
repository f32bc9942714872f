// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentmessage

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/policy"
)

// checkEdit rejects an approval with changed arguments that the role does not allow, or that the tool could not read.
// The call continues to wait.
func (r *Reconciler) checkEdit(ctx context.Context, uid string, message *v1beta1.AgentMessage, ask agent.AskPerson) (*outcome, error) {
	edited := message.Spec.Approval.Arguments
	if edited == "" || edited == ask.Arguments {
		return nil, nil
	}
	state, _, err := r.Runner.State(ctx, uid)
	if err != nil {
		return nil, err
	}
	if rejection := checkEditable(message.Spec.Approval.Task, state, ask); rejection != nil {
		return rejection, nil
	}
	if len(edited) > agent.MaxEditedArguments {
		return rejected(v1beta1.ReasonEditInvalid, "The changed arguments have %d bytes, more than the limit of %d.", len(edited), agent.MaxEditedArguments), nil
	}
	if err := policy.CheckArguments(edited); err != nil {
		return rejected(v1beta1.ReasonEditInvalid, "The changed arguments cannot be used: %v.", err), nil
	}
	schema, _ := state.Config.SchemaOf(ask.Tool)
	violations, err := r.checker.Violations(ctx, schema, json.RawMessage(edited))
	if err != nil || len(violations) == 0 {
		return nil, err
	}
	return rejected(v1beta1.ReasonEditInvalid, "The changed arguments do not match the schema of the tool %s: %s.", ask.Tool, strings.Join(violations, "; ")), nil
}

// checkEditable rejects the edit of a call whose arguments cannot be changed.
func checkEditable(task string, state agent.State, ask agent.AskPerson) *outcome {
	if ask.Editable {
		return nil
	}
	reason := "the call is not one of a tool, or has begun"
	switch {
	case ask.DenyRequesters:
		reason = "the role or a ToolPolicy denies requesters, and a person who writes arguments requests the call"
	case !state.Config.Role.EditableApprovals:
		reason = "approval.editable of the role is not set"
	}
	return rejected(v1beta1.ReasonEditNotAllowed, "The arguments of the waiting call of the task %q cannot be changed, because %s: approve it as it is, or deny it with a comment.", task, reason)
}
