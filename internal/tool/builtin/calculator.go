// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/builtin/calc"
)

func calculator() definition {
	return define(tool.Spec{
		Name: Calculator,
		Description: "Evaluates one arithmetic expression exactly, with numbers of any size. Use it for every calculation that matters instead of working it out yourself. " +
			"Operators: + - * / % ^ and parentheses; ^ binds tighter than a sign. " +
			"Functions: sqrt(x), root(x, n), abs(x), min(...), max(...), round(x, digits), floor(x), ceil(x). Constants: pi, e. " +
			"Write numbers without thousands separators, such as 1250000.5 or 1.25e6.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"required": ["expression"],
			"additionalProperties": false,
			"properties": {
				"expression": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "The expression, for example (17.5 + 3) * 1.19^2"}
			}
		}`),
		Timeout: 10 * time.Second,
	}, calculate)
}

func calculate(ctx context.Context, _ tool.Invocation, a struct{ Expression string }) (tool.Output, error) {
	value, err := calc.Eval(ctx, a.Expression)
	if ctx.Err() != nil {
		return tool.Output{}, ctx.Err()
	}
	if err != nil {
		return refused("The expression has no value: %v.", err), nil
	}
	return structured(value.String(), struct {
		Value string `json:"value"`
		Exact bool   `json:"exact"`
	}{value.String(), value.Exact()})
}
