// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package recording reads the recorded runs of agents.
package recording

import (
	"context"
	"errors"
	"fmt"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// Events is the part of the ledger that has the events of agents.
type Events interface {
	Events(ctx context.Context, uid string, after int64, limit int) ([]ledger.Event, error)
}

// ErrUnreadable means that an event is damaged, or of another release.
var ErrUnreadable = errors.New("the history cannot be read")

// Read calls each with every event of an agent and the state after it. It returns ErrUnreadable at the first event that cannot be read.
func Read(ctx context.Context, l Events, uid string, each func(agent.Event, agent.State)) error {
	var state agent.State
	for after := int64(0); ; {
		page, err := l.Events(ctx, uid, after, ledger.MaxLimit)
		if err != nil {
			return fmt.Errorf("read the events of agent %s: %w", uid, err)
		}
		if len(page) == 0 {
			return nil
		}
		for _, row := range page {
			next, event, err := agent.DecodeAndApply(state, row.Data)
			if err != nil {
				return fmt.Errorf("%w: event %d of agent %s: %w", ErrUnreadable, row.Seq, uid, err)
			}
			state, after = next, row.Seq
			each(event, state)
		}
	}
}
