// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"encoding/json"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/plainjson"
)

// StorableReasoning returns the reasoning items of a reply in the form that the ledger returns: a request must have the same bytes
// before and after a restart. It leaves out items that cannot be stored, and those beyond the core's limits.
func StorableReasoning(items []model.ReasoningItem) []model.ReasoningItem {
	var kept []model.ReasoningItem
	for _, item := range items {
		data, err := plainjson.Marshal(json.RawMessage(ValidUTF8(string(item.Data))))
		if err != nil || len(item.Data) == 0 {
			continue
		}
		kept = append(kept, model.ReasoningItem{API: item.API, Model: ValidUTF8(item.Model), Call: ValidUTF8(item.Call), Data: data})
	}
	return kept[:len(agent.LimitReasoning(recordedReasoning(kept)))]
}

// recordedReasoning converts the reasoning items of a reply to those of an event.
func recordedReasoning(items []model.ReasoningItem) []agent.ReasoningItem {
	var recorded []agent.ReasoningItem
	for _, item := range items {
		recorded = append(recorded, agent.ReasoningItem{API: string(item.API), Model: item.Model, Call: item.Call, Data: item.Data})
	}
	return recorded
}
