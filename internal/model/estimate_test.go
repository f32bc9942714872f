// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
)

// TestEstimateIsOnTheLargeSide compares the estimate with what prose is known to take: about four characters a token.
func TestEstimateIsOnTheLargeSide(t *testing.T) {
	prose := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 200)
	base := model.Request{Messages: []model.Message{{Role: model.RoleUser, Text: prose}}}
	tokens := int64(len(prose) / 4)
	if got := model.EstimateTokens(base); got < tokens || got > 2*tokens {
		t.Errorf("estimate is %d, want between %d and %d", got, tokens, 2*tokens)
	}
	for name, more := range map[string]model.Message{
		"an image":    {Role: model.RoleUser, Images: []model.Image{{Data: []byte("x")}}},
		"a tool call": {Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{Name: "read", Arguments: prose}}},
		"a refusal":   {Role: model.RoleAssistant, Refusal: prose},
	} {
		longer := base
		longer.Messages = append([]model.Message{more}, base.Messages...)
		if model.EstimateTokens(longer) < model.EstimateTokens(base)+800 {
			t.Errorf("%s does not count", name)
		}
	}
	if model.EstimateTokens(fullRequest()) <= model.EstimateTokens(model.Request{Messages: fullRequest().Messages}) {
		t.Error("tools do not count")
	}
}
