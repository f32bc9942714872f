// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package bare

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/test/bench/measure"
)

// sends is the number of requests for measuring the cost of sending.
const sends = 20

// SendCost returns the CPU time that the model client alone needs for a request of about the given size, a history of
// tool calls with results of resultBytes: the minimum cost of a turn, because every request contains the whole
// history.
func SendCost(ctx context.Context, bytes int64, resultBytes int) (time.Duration, error) {
	m, err := newModels()
	if err != nil {
		return 0, err
	}
	request := model.Request{Model: modelName, Messages: []model.Message{{Role: model.RoleSystem, Text: "You work."}, {Role: model.RoleUser, Text: "Work."}}}
	for size, i := int64(0), 1; size < bytes; i++ {
		id := fmt.Sprintf("call_%d", i)
		result := text(id, resultBytes)
		request.Messages = append(request.Messages,
			model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{ID: id, Name: toolName, Arguments: `{"item":"Item"}`}}},
			model.Message{Role: model.RoleTool, ToolCallID: id, Text: result})
		size += int64(len(result)) + 250 // overhead
	}
	ctx = context.WithValue(ctx, callInfoKey{}, callInfo{agent: "send", purpose: agent.PurposeTurn})
	runtime.GC()
	before, err := measure.OwnCPU()
	if err != nil {
		return 0, err
	}
	for range sends {
		if _, err := m.client.Complete(ctx, request, nil); err != nil {
			return 0, err
		}
	}
	after, err := measure.OwnCPU()
	return (after - before) / sends, err
}
