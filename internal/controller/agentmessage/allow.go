// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentmessage

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/pattern"
)

// allow records an allowance of a chat. Its orchestrator approves the call that the message decides, and all others
// that the allowance covers, in the step that records it: one fact, so a crash cannot separate the decision from the
// allowance.
func (r *Reconciler) allow(ctx context.Context, chat client.Object, message *v1beta1.AgentMessage, uid string, ask agent.AskPerson) (*outcome, error) {
	state, _, err := r.Runner.State(ctx, string(chat.GetUID()))
	if err != nil {
		return nil, err
	}
	approval := message.Spec.Approval
	patterns := make([]pattern.Argument, 0, len(approval.Allow.Arguments))
	for _, p := range approval.Allow.Arguments {
		patterns = append(patterns, pattern.Argument{Name: p.Name, Pattern: p.Pattern})
	}
	if rejection := checkAllowance(approval.Task, ask, patterns, len(state.Allowances)); rejection != nil {
		return rejection, nil
	}
	fact := agent.Allowed{
		Message: message.Name, Tool: ask.Tool, Arguments: patterns, User: message.Spec.User, UID: uid, Call: ask.Call, Comment: approval.Comment,
	}
	return new(handled()), r.record(ctx, string(chat.GetUID()), fact)
}

// checkAllowance rejects an allowance that does not cover the call which its message approves, or that the chat has no
// room for.
func checkAllowance(task string, ask agent.AskPerson, patterns []pattern.Argument, existing int) *outcome {
	switch {
	case ask.DenyRequesters:
		return rejected(v1beta1.ReasonRequesterDenied, "The role or a ToolPolicy of this call requires a decision about each call: approve it without spec.approval.allow.")
	case !ask.Policy.AcceptsAllowance():
		return rejected(v1beta1.ReasonAllowanceMismatch,
			"A ToolPolicy requires a decision about each call, or the request does not show all rules and labels, so nothing was approved. "+
				"Approve it without spec.approval.allow.")
	case !pattern.Match(patterns, ask.Arguments):
		return rejected(v1beta1.ReasonAllowanceMismatch,
			"The arguments of task %q's call do not match the patterns of spec.approval.allow, so nothing was approved. Approve it with other patterns, or without spec.approval.allow.", task)
	case existing >= agent.MaxAllowances:
		return rejected(v1beta1.ReasonAllowanceLimit, "The chat has %d allowances, which is the limit. Revoke one, or approve the call without spec.approval.allow.", existing)
	}
	return nil
}

// revoke ends an allowance of a chat.
func (r *Reconciler) revoke(ctx context.Context, chat client.Object, message *v1beta1.AgentMessage) (*outcome, error) {
	if recorded, err := r.hasRecorded(ctx, chat, message); recorded || err != nil {
		return new(handled()), err
	}
	state, started, err := r.Runner.State(ctx, string(chat.GetUID()))
	if err != nil {
		return nil, err
	}
	name := message.Spec.Revoke.Allowance
	if !started || !slices.ContainsFunc(state.Allowances, func(a agent.Allowance) bool { return a.Name == name }) {
		return rejected(v1beta1.ReasonAllowanceNotFound, "The chat has no allowance %q: status.allowances lists them.", name), nil
	}
	fact := agent.AllowanceRevoked{Allowance: name, Message: message.Name, User: message.Spec.User}
	return new(handled()), r.record(ctx, string(chat.GetUID()), fact)
}

// hasRecorded reports whether the orchestrator of a chat has recorded a message, although the status of the message may
// not show it yet.
func (r *Reconciler) hasRecorded(ctx context.Context, chat client.Object, message *v1beta1.AgentMessage) (bool, error) {
	state, _, err := r.Runner.State(ctx, string(chat.GetUID()))
	return err == nil && state.HasHandled(message.Name), err
}
