// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/tool"
)

var ErrNoResult = errors.New("no such result")

// ErrPruned is returned by Results for an output that was deleted because of its age.
var ErrPruned = errors.New("deleted because of its age")

type Results interface {
	// FullOutput returns the text of a call by the agent or by another agent of its tree, or an error that wraps
	// ErrNoResult or ErrPruned. The reference is the one in the marker of a truncated output. Outputs of other trees
	// are not found.
	FullOutput(ctx context.Context, agent, reference string) (Recorded, error)
}

// Recorded is the output of an earlier call, with the content labels of the agent that made it.
type Recorded struct {
	Text   string
	Labels []string
}

const (
	// defaultPage and maxPage leave room for the footer within the default limit of an executor, so that a page is
	// not truncated itself.
	defaultPage = 16_000
	maxPage     = 32_000
)

func readResult(results Results) definition {
	spec := tool.Spec{
		Name: ReadResult,
		Description: "Reads more of an earlier tool call's shortened output. The marker in the shortened output names the call_id and the next offset.  " +
			"Read only what you need: a narrower first call is often better than paging through everything.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"required": ["call_id"],
			"additionalProperties": false,
			"properties": {
				"call_id": {"type": "string", "minLength": 1, "maxLength": 512, "description": "The call, as the marker names it"},
				"offset":  {"type": "integer", "minimum": 0, "default": 0, "description": "The byte to start from"},
				"limit":   {"type": "integer", "minimum": 100, "maximum": 32000, "default": 16000, "description": "The most bytes to return"}
			}
		}`),
	}
	return define(spec, func(ctx context.Context, call tool.Invocation, a struct {
		CallID string `json:"call_id"`
		Offset integer
		Limit  integer
	}) (tool.Output, error) {
		recorded, err := results.FullOutput(ctx, call.Agent, a.CallID)
		if errors.Is(err, ErrNoResult) {
			return refused("There is no output of a call %q. Use the call_id that the marker in the shortened output names.", a.CallID), nil
		}
		if errors.Is(err, ErrPruned) {
			return refused("The output of call %q was deleted because of its age. Only what you were shown of it is left; make the call again if you need the rest.", a.CallID), nil
		}
		if err != nil {
			return tool.Output{}, fmt.Errorf("read output of call %s: %w", a.CallID, err)
		}
		if a.Limit == 0 {
			a.Limit = defaultPage
		}
		output := page(recorded.Text, int(a.Offset), int(a.Limit))
		output.Labels = recorded.Labels
		return output, nil
	})
}

func page(whole string, offset, limit int) tool.Output {
	if offset > 0 && offset >= len(whole) {
		return refused("The offset %d is beyond the end: the output has %d bytes.", offset, len(whole))
	}
	text, next := shorten.PageBytes(whole, offset, min(limit, maxPage))
	footer := fmt.Sprintf("\n[bytes %d to %d of %d; this is the end]", next-len(text), next, len(whole))
	if next < len(whole) {
		footer = fmt.Sprintf("\n[bytes %d to %d of %d; continue with offset %d]", next-len(text), next, len(whole), next)
	}
	return tool.Output{Text: text + footer}
}
