// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"slices"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine/exchange"
)

// withCallProblems validates the calls of a reply before it becomes an event, so that invalid arguments lead to no approval and
// no child. The problems are part of the event: the core needs no schemas, and replays are exact.
func (e *Engine) withCallProblems(s agent.State, fact agent.Fact) agent.Fact {
	reply, ok := fact.(agent.ModelReplied)
	if !ok || len(reply.Calls) == 0 {
		return fact
	}
	reply.Calls = slices.Clone(reply.Calls)
	for i, call := range reply.Calls {
		if schema, ok := s.Config.SchemaOf(call.Tool); ok && call.Problem == "" {
			problem, err := e.checker.Problem(e.ctx, call.Tool, schema, json.RawMessage(call.Arguments))
			if err != nil {
				problem = "The arguments were not checked, because the operator stopped, and nothing was run: call it again."
			}
			reply.Calls[i].Problem = exchange.ValidUTF8(problem)
		}
	}
	return reply
}
