// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"errors"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
)

// outputs is a ledger with one output of each agent.
type outputs struct{ ledger.Calls }

func (outputs) ToolOutput(_ context.Context, _, call string, _ int64, _ int) (ledger.ToolOutput, error) {
	return ledger.ToolOutput{Data: []byte("the text"), Agent: call}, nil
}

// What an isolated agent has read is not found, nor is the output of an agent whose configuration is lost.
func TestFullOutputOfAgents(t *testing.T) {
	states := map[string]agent.State{
		"open":     {Config: agent.Config{Kind: agent.SubAgent}, Labels: agent.Labels{{Name: "pii"}}},
		"isolated": {Config: agent.Config{Kind: agent.SubAgent, Isolated: true}},
		"lost":     {},
	}
	full := FullOutputs{Ledger: outputs{}, State: func(_ context.Context, uid string) (agent.State, error) { return states[uid], nil }}
	got, err := full.FullOutput(t.Context(), "reader", "open")
	if err != nil || got.Text != "the text" || len(got.Labels) != 1 {
		t.Errorf("the output is %+v, %v", got, err)
	}
	for _, name := range []string{"isolated", "lost"} {
		if got, err := full.FullOutput(t.Context(), "reader", name); !errors.Is(err, builtin.ErrNoResult) || got.Text != "" {
			t.Errorf("the output of %s is %+v, %v", name, got, err)
		}
	}
}
