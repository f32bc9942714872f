// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentmessage

import (
	"context"
	"fmt"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/engine"
)

// asksBelow lists the asks of the agents below an agent, oldest first, and reports whether one of them has already
// recorded the message. It reads the ledger instead of the engine's memory, because a message without a waiting ask is
// rejected permanently.
func (r *Reconciler) asksBelow(ctx context.Context, uid string, message *v1beta1.AgentMessage) (asks []engine.Ask, recorded bool, err error) {
	top, err := r.Runner.Engine.Lookup(ctx, uid)
	if err != nil {
		return nil, false, fmt.Errorf("look up agent %s: %w", uid, err)
	}
	agents, err := r.Runner.TreeOf(ctx, top)
	if err != nil {
		return nil, false, err
	}
	for _, below := range agents {
		if !below.Live() && below.FinishedAt.Before(message.CreationTimestamp.Time) {
			continue // it had ended before the message was created
		}
		state, started, err := r.Runner.State(ctx, below.UID)
		if err != nil {
			return nil, false, err
		}
		if started && state.HasHandled(message.Name) {
			return nil, true, nil
		}
		if started && below.Live() {
			asks = append(asks, engine.AsksOf(below, state)...)
		}
	}
	engine.SortAsks(asks)
	return asks, false, nil
}
