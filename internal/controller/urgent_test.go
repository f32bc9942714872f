// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
)

func TestAnswerIsShownImmediately(t *testing.T) {
	sub := agent.Config{Kind: agent.SubAgent}
	active := agent.State{Phase: agent.PhaseRequesting, Config: sub}
	waiting := agent.State{Phase: agent.PhaseActing, Config: sub, Batch: []agent.BatchCall{{State: agent.CallAsked}}}
	if waiting.Stage() != agent.StageWaitingForUser {
		t.Fatalf("the agent's stage is %s: the test is void", waiting.Stage())
	}
	for name, test := range map[string]struct {
		before, after agent.State
		urgent        bool
	}{
		"a question": {active, waiting, true},
		"an answer":  {waiting, active, true},
		"a turn":     {active, active, false},
	} {
		if got := isUrgent(engine.Change{Before: test.before, After: test.after}); got != test.urgent {
			t.Errorf("%s: urgent = %t", name, got)
		}
	}
}
