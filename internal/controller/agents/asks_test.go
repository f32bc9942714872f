// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
)

func TestShownFirst(t *testing.T) {
	for name, test := range map[string]struct {
		shown *v1beta1.Waiting
		want  string
	}{
		"nothing is shown":                   {nil, "a-1 q; a-1 r; b q; "},
		"the oldest is shown":                {&v1beta1.Waiting{SubAgent: "a-1", ToolCall: "q"}, "a-1 q; a-1 r; b q; "},
		"another one is shown":               {&v1beta1.Waiting{SubAgent: "b", ToolCall: "q"}, "b q; a-1 q; a-1 r; "},
		"another one of the agent is shown":  {&v1beta1.Waiting{SubAgent: "a-1", ToolCall: "r"}, "a-1 r; a-1 q; b q; "},
		"one that was answered is shown":     {&v1beta1.Waiting{SubAgent: "b", ToolCall: "p"}, "a-1 q; a-1 r; b q; "},
		"one of the task's own was answered": {&v1beta1.Waiting{SubAgent: "a", ToolCall: "q"}, "a-1 q; a-1 r; b q; "},
	} {
		t.Run(name, func(t *testing.T) {
			var asks []engine.Ask
			for _, by := range [][2]string{{"a-1", "q"}, {"a-1", "r"}, {"b", "q"}} {
				asks = append(asks, engine.Ask{Agent: ledger.Agent{Name: by[0]}, AskPerson: agent.AskPerson{Call: by[1]}})
			}
			got := ""
			for _, ask := range ShownFirst(asks, test.shown) {
				got += ask.Agent.Name + " " + ask.Call + "; "
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
