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
			reply.Calls[i].Problem = e.callProblem(call.Tool, schema, call.Arguments)
		}
		for _, input := range s.Config.InputsOf(call) {
			schema, ok := s.Config.SchemaOf(input.Tool)
			if !ok || reply.Calls[i].Problem != "" {
				continue
			}
			reply.Calls[i].Problem = e.callProblem(input.Tool, schema, input.Arguments)
		}
	}
	return reply
}

// callProblem returns why the arguments of a call are not valid, or "".
func (e *Engine) callProblem(tool string, schema json.RawMessage, arguments string) string {
	problem, err := e.checker.Problem(e.ctx, tool, schema, json.RawMessage(arguments))
	if err != nil {
		problem = "The arguments were not checked, because the operator stopped, and nothing was run: call it again."
	}
	return exchange.ValidUTF8(problem)
}
