// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"slices"
)

// ReasoningItem is a part of a model's reasoning that must be sent back in later requests, such as a signed or
// encrypted block. The core only keeps it with its message.
type ReasoningItem struct {
	// API and Model identify the API and the model that returned the item. No other one accepts it.
	API   string `json:"api"`
	Model string `json:"model"`
	// Call is the id of the tool call that the item belongs to; empty if it belongs to the whole reply.
	Call string `json:"call,omitempty"`
	// Data is the item in the format of the API.
	Data json.RawMessage `json:"data"`
}

// The limits for the reasoning items of one reply, because they are part of the state and of every later request.
const (
	maxReasoningItems = 256
	maxReasoningBytes = 512 << 10
)

// LimitReasoning returns the items of a reply up to the first one that exceeds the limits.
func LimitReasoning(items []ReasoningItem) []ReasoningItem {
	size := 0
	for i, item := range items {
		size += len(item.API) + len(item.Model) + len(item.Call) + len(item.Data)
		if i == maxReasoningItems || size > maxReasoningBytes {
			return items[:i:i]
		}
	}
	return items
}

// reasoningFor returns the reasoning items of a reply for the history. Calls have unique ids in the history, so each
// item gets the id of its call in calls. Items of other calls are left out.
func (f ModelReplied) reasoningFor(calls []ToolCall) []ReasoningItem {
	var items []ReasoningItem
	for _, item := range LimitReasoning(f.ReasoningItems) {
		if item.Call != "" {
			i := slices.IndexFunc(f.Calls, func(c ToolCall) bool { return c.ID == item.Call })
			if i < 0 || i >= len(calls) {
				continue
			}
			item.Call = calls[i].ID
		}
		items = append(items, item)
	}
	return items
}
