// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package bedrock

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// dialect describes what a model accepts, as learned from rejected requests.
type dialect struct {
	// refused counts the forms of reasoning that the model has rejected.
	refused       int
	noTemperature bool
	// maxOutput is the largest output limit of the model, or 0 if it is unknown.
	maxOutput int64
	// noCache leaves out the marks of the prompt cache, and noChoice the choice of tools.
	noCache, noChoice bool
	// whole requests a reply without a stream.
	whole bool
	// noReasoning leaves out the reasoning of the history, and reasoning itself, for this call only: the API does not
	// accept it.
	noReasoning bool
}

func (d dialect) Suffix() string {
	return wire.Mark(d.refused > 0, fmt.Sprintf("-t%d", d.refused)) + wire.Mark(d.noTemperature, "-ntm") + wire.Mark(d.noCache, "-nca") +
		wire.Mark(d.noChoice, "-nch") + wire.Mark(d.whole, "-who") + wire.Mark(d.noReasoning, "-nre") +
		wire.Mark(d.maxOutput > 0, "-max")
}

var outputLimit = regexp.MustCompile(`exceeds the model limit of (\d+)`)

func (d dialect) Lasting() dialect {
	d.noReasoning = false
	return d
}

// After returns the dialect to try after an error, which is the same one if the error does not suggest another. That
// can happen once for each field, and twice for the form of reasoning.
func (d dialect) After(refusal *model.Error) dialect {
	text := strings.ToLower(refusal.Message)
	if strings.Contains(text, "prompt caching") || strings.Contains(text, "cachepoint") {
		d.noCache = true // the API denies access to it
		return d
	}
	if refusal.Kind != model.BadRequest {
		return d
	}
	aboutReasoning := wire.ContainsAny(text, "thinking", "reasoning", "effort", "output_config", "additionalmodelrequestfields")
	limit := outputLimit.FindStringSubmatch(text)
	switch {
	case limit != nil && d.maxOutput == 0:
		d.maxOutput, _ = strconv.ParseInt(limit[1], 10, 64) // 0 if it overflows, which changes nothing
	case strings.Contains(text, "streaming"):
		d.whole = true
	case strings.Contains(text, "messages."):
		d.noReasoning = d.noReasoning || aboutReasoning
	case strings.Contains(text, "toolchoice"):
		d.noChoice = true
	case strings.Contains(text, "temperature"):
		d.noTemperature = true
	case aboutReasoning && d.refused < 2:
		d.refused++
	}
	return d
}

// The request fields that enable reasoning; vendors differ.
type (
	thinking struct {
		Type         string `json:"type"`
		BudgetTokens int64  `json:"budget_tokens,omitempty"`
		Display      string `json:"display,omitempty"`
	}
	effort struct {
		Effort string `json:"effort"`
	}
	reasoningConfig struct {
		Type   string `json:"type"`
		Effort string `json:"maxReasoningEffort,omitempty"`
	}
	modelFields struct {
		Thinking        *thinking        `json:"thinking,omitempty"`
		OutputConfig    *effort          `json:"output_config,omitempty"`
		ReasoningConfig *reasoningConfig `json:"reasoningConfig,omitempty"`
		ReasoningEffort string           `json:"reasoning_effort,omitempty"`
	}
)

// reasoning returns the fields that enable reasoning, or nil. They depend on the model's vendor; the fields of
// Anthropic are tried first for an unknown name, such as that of an inference profile.
func (d dialect) reasoning(req model.Request) *modelFields {
	if req.ReasoningEffort == "" {
		return nil
	}
	level := strings.ToLower(string(req.ReasoningEffort))
	none := req.ReasoningEffort == model.EffortNone
	switch {
	case strings.Contains(req.Model, "openai."):
		if d.refused > 0 || none {
			return nil
		}
		return &modelFields{ReasoningEffort: level}
	case strings.Contains(req.Model, "amazon.nova"):
		switch {
		case d.refused > 0:
			return nil
		case none:
			return &modelFields{ReasoningConfig: &reasoningConfig{Type: "disabled"}}
		}
		return &modelFields{ReasoningConfig: &reasoningConfig{Type: "enabled", Effort: level}}
	}
	return d.thinking(req, none, level)
}

func (d dialect) thinking(req model.Request, none bool, level string) *modelFields {
	switch {
	case d.refused == 2:
		return nil
	case none:
		return &modelFields{Thinking: &thinking{Type: "disabled"}}
	case d.noReasoning, req.ToolChoice == "required" && len(req.Tools) > 0, !wire.LoopBeganWithReasoning(req, model.Bedrock):
		return nil // the models do not accept it with these
	case d.refused == 1:
		return &modelFields{Thinking: &thinking{Type: "adaptive", Display: "summarized"}, OutputConfig: &effort{Effort: level}}
	}
	budget := wire.ReasoningBudget(req.ReasoningEffort, cmp.Or(d.outputLimit(req), math.MaxInt64))
	if budget == 0 {
		return nil
	}
	return &modelFields{Thinking: &thinking{Type: "enabled", BudgetTokens: budget}}
}

// outputLimit returns the limit of the output, or 0 for that of the model.
func (d dialect) outputLimit(req model.Request) int64 {
	if d.maxOutput > 0 {
		return min(req.MaxOutputTokens, d.maxOutput)
	}
	return max(req.MaxOutputTokens, 0)
}
