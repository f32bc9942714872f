// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// dialect describes what a model accepts, as learned from rejected requests.
type dialect struct {
	// refused counts the forms of thinking that the model has rejected.
	refused int
	// signCalls: calls without a signature need a placeholder although the model is of an older generation.
	signCalls bool
	// noReasoning leaves out the signatures of the history, for this call only: the API no longer accepts them.
	noReasoning bool
}

func (d dialect) Suffix() string {
	return wire.Mark(d.refused > 0, fmt.Sprintf("-t%d", d.refused)) +
		wire.Mark(d.signCalls, "-sig") + wire.Mark(d.noReasoning, "-nre")
}

func (d dialect) Lasting() dialect {
	d.noReasoning = false
	return d
}

// After returns the dialect to try after an error, which is the same one if the error does not suggest another.
func (d dialect) After(refusal *model.Error) dialect {
	if refusal.Kind != model.BadRequest {
		return d
	}
	text := strings.ReplaceAll(strings.ToLower(refusal.Message), "_", " ")
	switch {
	case strings.Contains(text, "missing a thought signature"):
		d.signCalls = true
	case strings.Contains(text, "thought signature"):
		d.noReasoning = true
	case strings.Contains(text, "thinking") && d.refused < len(thinkingForms)-1:
		d.refused++
	}
	return d
}

// isOldGeneration reports whether a model is of a generation with budgets for thinking and without mandatory
// signatures.
func isOldGeneration(name string) bool {
	return strings.Contains(name, "gemini-1") || strings.Contains(name, "gemini-2")
}

// thinkingForms are the ways to enable thinking, in the order in which they are tried. Old generations begin with
// the second.
var thinkingForms = []func(model.ReasoningEffort) *genai.ThinkingConfig{byLevel, byBudget, noThinking}

func (d dialect) thinking(name string, effort model.ReasoningEffort) *genai.ThinkingConfig {
	if effort == "" {
		return nil
	}
	form := d.refused
	if form < 2 && isOldGeneration(name) {
		form = 1 - form
	}
	return thinkingForms[form](effort)
}

func byLevel(effort model.ReasoningEffort) *genai.ThinkingConfig {
	levels := map[model.ReasoningEffort]genai.ThinkingLevel{
		model.EffortNone: genai.ThinkingLevelMinimal, model.EffortLow: genai.ThinkingLevelLow,
		model.EffortMedium: genai.ThinkingLevelMedium, model.EffortHigh: genai.ThinkingLevelHigh,
	}
	return &genai.ThinkingConfig{IncludeThoughts: effort != model.EffortNone, ThinkingLevel: levels[effort]}
}

func byBudget(effort model.ReasoningEffort) *genai.ThinkingConfig {
	budgets := map[model.ReasoningEffort]int32{
		model.EffortNone: 0, model.EffortLow: 1024, model.EffortMedium: 8192, model.EffortHigh: 24576,
	}
	return &genai.ThinkingConfig{IncludeThoughts: effort != model.EffortNone, ThinkingBudget: new(budgets[effort])}
}

func noThinking(model.ReasoningEffort) *genai.ThinkingConfig { return nil }
