// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
)

// continueFrom returns the start of a sub-agent. A follow-up starts with the conversation of a finished sub-agent with
// the same role, of the same chat. root is the UID at the top of the follow-up's own tree.
func (r *Reconciler) continueFrom(ctx context.Context, sub *v1beta1.SubAgent, root string, started agent.Started) (agent.Started, error) {
	if sub.Spec.ContinueFrom == "" {
		return started, nil
	}
	next, err := r.followUp(ctx, sub, root, started, r.Runner.Cached)
	var never *startError
	if errors.As(err, &never) { // the cache may have an earlier sub-agent of the name
		return r.followUp(ctx, sub, root, started, r.Runner.Live)
	}
	return next, err
}

// followUp is continueFrom with the finished sub-agent that read returns.
func (r *Reconciler) followUp(ctx context.Context, sub *v1beta1.SubAgent, root string, started agent.Started, read cluster.Read) (agent.Started, error) {
	from := sub.Spec.ContinueFrom
	waits := func(why string) (agent.Started, error) {
		return started, &resolve.Missing{Reason: v1beta1.ReasonSubAgentNotFound,
			Message: fmt.Sprintf("continueFrom names the sub-agent %q, which %s.", from, why)}
	}
	never := func(why string, args ...any) (agent.Started, error) {
		return started, startErrorf(v1beta1.ErrorInvalidSpec, "continueFrom names %q, %s.", from, fmt.Sprintf(why, args...))
	}
	var before v1beta1.SubAgent
	err := read(ctx, types.NamespacedName{Namespace: sub.Namespace, Name: from}, &before)
	if apierrors.IsNotFound(err) {
		return waits("does not exist in the namespace " + sub.Namespace)
	}
	if err != nil {
		return started, fmt.Errorf("get sub-agent %s/%s: %w", sub.Namespace, from, err)
	}
	if before.Spec.Role != sub.Spec.Role || before.Spec.Chat != sub.Spec.Chat {
		return never("which has the role %s and the chat %q; a follow-up needs the same role and the same chat", before.Spec.Role, before.Spec.Chat)
	}
	state, found, err := r.Runner.State(ctx, string(before.UID))
	if err != nil {
		return started, err
	}
	if !found && before.Status.StartTime == nil && before.Status.Error == nil {
		return waits("has not started: the follow-up starts when it has ended")
	}
	if !found {
		return never("whose history the ledger does not have")
	}
	if sub.Spec.Chat != "" {
		record, err := r.Runner.Engine.Lookup(ctx, string(before.UID))
		if err != nil {
			return started, fmt.Errorf("find the chat of sub-agent %s/%s: %w", sub.Namespace, from, err)
		}
		if record.Root != root {
			return never("which belongs to an earlier chat of the name %q", sub.Spec.Chat)
		}
	}
	if !state.Phase.Terminal() {
		return waits("has not ended: the follow-up starts when it has ended")
	}
	if state.Config.Isolated {
		return never("which is isolated: nothing of its conversation may leave it")
	}
	return state.FollowUp(started), nil
}
