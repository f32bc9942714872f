// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"context"
	"encoding/json"

	"github.com/nestor-dev/nestor/internal/tool"
)

// think lets a model reason between tool calls. The call records the thought in the history; it has no other effect.
func think() definition {
	return define(tool.Spec{
		Name: Think,
		Description: "A place to reason before you act: weigh findings, compare options, check a plan against the task. It obtains no new information and changes nothing. " +
			"Use it when several results must be brought together or when a mistake would be costly, not for simple steps.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"required": ["thought"],
			"additionalProperties": false,
			"properties": {
				"thought": {"type": "string", "minLength": 1, "description": "What you are thinking"}
			}
		}`),
	}, func(context.Context, tool.Invocation, struct{ Thought string }) (tool.Output, error) {
		return tool.Output{Text: "Noted. Continue."}, nil
	})
}
