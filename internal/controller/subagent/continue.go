// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package subagent

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
)

// invalidError reports that an agent can never start with its current spec.
type invalidError struct{ message string }

// Error implements error.
func (e *invalidError) Error() string { return e.message }

// continueFrom returns the start of a sub-agent. A follow-up starts with the conversation of a finished sub-agent with the same role, of the
// same chat. root is the UID at the top of the follow-up's own tree.
func (r *Reconciler) continueFrom(ctx context.Context, sub *v1alpha1.SubAgent, root string, started agent.Started) (agent.Started, error) {
	from := sub.Spec.ContinueFrom
	if from == "" {
		return started, nil
	}
	missing := &resolve.Missing{Reason: v1alpha1.ReasonSubAgentNotFound,
		Message: fmt.Sprintf("continueFrom names the sub-agent %q, which does not exist in the namespace %s.", from, sub.Namespace)}
	var before v1alpha1.SubAgent
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: sub.Namespace, Name: from}, &before)
	if apierrors.IsNotFound(err) {
		return started, missing
	}
	if err != nil {
		return started, fmt.Errorf("get sub-agent %s/%s: %w", sub.Namespace, from, err)
	}
	if before.Spec.Role != sub.Spec.Role || before.Spec.Chat != sub.Spec.Chat {
		return started, &invalidError{fmt.Sprintf("continueFrom names %q, which has the role %s and the chat %q; a follow-up needs the same role and the same chat.",
			from, before.Spec.Role, before.Spec.Chat)}
	}
	state, found, err := r.Runner.State(ctx, string(before.UID))
	if err != nil {
		return started, err
	}
	if !found && before.Status.StartTime == nil && before.Status.Error == nil {
		missing.Message = fmt.Sprintf("continueFrom names the sub-agent %q, which has not started: the follow-up starts when it has ended.", from)
		return started, missing
	}
	if !found {
		return started, &invalidError{fmt.Sprintf("continueFrom names %q, whose history the ledger does not have.", from)}
	}
	if sub.Spec.Chat != "" {
		record, err := r.Runner.Engine.Lookup(ctx, string(before.UID))
		if err != nil {
			return started, fmt.Errorf("find the chat of sub-agent %s/%s: %w", sub.Namespace, from, err)
		}
		if record.Root != root {
			return started, &invalidError{fmt.Sprintf("continueFrom names %q, which belongs to an earlier chat of the name %q.", from, sub.Spec.Chat)}
		}
	}
	if !state.Phase.Terminal() {
		missing.Message = fmt.Sprintf("continueFrom names the sub-agent %q, which has not ended: the follow-up starts when it has ended.", from)
		return started, missing
	}
	return state.FollowUp(started.Config), nil
}
