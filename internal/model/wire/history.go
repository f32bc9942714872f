// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
)

// IsOwn reports whether an API returned an item for the model of a request.
func IsOwn(item model.ReasoningItem, req model.Request, api model.API) bool {
	return item.API == api && item.Model == req.Model
}

// LoopBeganWithReasoning reports whether the history's last tool loop, if any, began with reasoning. A loop that began
// without it, for example with another provider, must end without it.
func LoopBeganWithReasoning(req model.Request, api model.API) bool {
	first := -1
	for i := len(req.Messages) - 1; i >= 0; i-- {
		switch req.Messages[i].Role {
		case model.RoleTool:
			continue
		case model.RoleAssistant:
			if i+1 == len(req.Messages) || req.Messages[i+1].Role != model.RoleTool {
				return first < 0 || beginsWithReasoning(req, api, first)
			}
			first = i
		}
	}
	return first < 0 || beginsWithReasoning(req, api, first)
}

func beginsWithReasoning(req model.Request, api model.API, i int) bool {
	return slices.ContainsFunc(req.Messages[i].ReasoningItems, func(item model.ReasoningItem) bool {
		return item.Call == "" && IsOwn(item, req, api)
	})
}

// minBudget is the smallest thinking budget that the Anthropic models accept, in tokens.
const minBudget = 1024

// ReasoningBudget returns the thinking budget of an Anthropic model, in tokens, which is below its output limit; 0 if
// the limit is too small.
func ReasoningBudget(effort model.ReasoningEffort, limit int64) int64 {
	budget := int64(16 * minBudget)
	switch effort {
	case model.EffortLow:
		budget = 2 * minBudget
	case model.EffortMedium:
		budget = 8 * minBudget
	}
	if budget = max(min(budget, limit/2), minBudget); budget >= limit {
		return 0
	}
	return budget
}

// CalledTools returns the tools that the history calls, for APIs that require their definitions.
func CalledTools(req model.Request) []model.Tool {
	var tools []model.Tool
	names := map[string]bool{}
	for i := range req.Messages {
		for _, call := range req.Messages[i].ToolCalls {
			if name := SendableName(call.Name); !names[name] {
				names[name] = true
				tools = append(tools, model.Tool{Name: name})
			}
		}
	}
	return tools
}

// CallIDs converts the IDs of tool calls to the characters that most APIs accept. The zero value is ready for use.
type CallIDs struct {
	// Max is the largest number of characters; 0 means no limit.
	Max int

	valid map[string]string
	sent  map[string]bool
}

// Valid returns an ID that is unique in the request, and the same for the same call.
func (c *CallIDs) Valid(id string) string {
	if valid, ok := c.valid[id]; ok {
		return valid
	}
	if c.valid == nil {
		c.valid, c.sent = map[string]string{}, map[string]bool{}
	}
	valid := strings.Map(sendable, id)
	if valid == "" {
		valid = "call"
	}
	unique := c.cut(valid, "")
	for n := 2; c.sent[unique]; n++ {
		unique = c.cut(valid, "_"+strconv.Itoa(n))
	}
	c.valid[id], c.sent[unique] = unique, true
	return unique
}

func (c *CallIDs) cut(id, suffix string) string {
	if c.Max > 0 {
		id = id[:min(len(id), c.Max-len(suffix))]
	}
	return id + suffix
}

// WithImageNotes replaces images that an API cannot show by notes: those of a model without images, pruned ones, and
// those of other types than the given ones.
func WithImageNotes(m model.Message, textOnly bool, types []string) model.Message {
	if len(m.Images) == 0 {
		return m
	}
	m = m.WithImageNotes(textOnly)
	var shown, hidden []model.Image
	for _, image := range m.Images {
		if slices.Contains(types, image.MediaType) {
			shown = append(shown, image)
		} else {
			hidden = append(hidden, image)
		}
	}
	m.Images = hidden
	m = m.WithImageNotes(true)
	m.Images = shown
	return m
}
