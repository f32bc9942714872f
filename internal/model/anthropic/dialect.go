// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

type thinkingForm int

// The forms. The first, 0, sets a number of tokens: older models support nothing else.
const (
	// thinkByEffort lets the model decide, with an effort.
	thinkByEffort thinkingForm = iota + 1
	// thinkNot sends nothing.
	thinkNot
)

// dialect describes what a model accepts. The zero value suits most of them.
type dialect struct {
	thinking      thinkingForm
	noTemperature bool
	// maxOutput is the largest output limit of the model, or 0 if it is unknown.
	maxOutput int64
	// noReasoning leaves out the thinking of the history, and thinking itself, for this call only: the API does not
	// accept it.
	noReasoning bool
}

func (d dialect) Suffix() string {
	if d == (dialect{}) {
		return ""
	}
	return fmt.Sprintf("-t%d", d.thinking) + wire.Mark(d.noTemperature, "-ntm") + wire.Mark(d.noReasoning, "-nre") + wire.Mark(d.maxOutput > 0, "-max")
}

var outputLimit = regexp.MustCompile(`max_tokens: \d+ > (\d+)`)

func (d dialect) Lasting() dialect {
	d.noReasoning = false
	return d
}

// After returns the dialect to try after an error, which is the same one if the error does not suggest another. That
// can happen once for each field, and twice for the form of thinking.
func (d dialect) After(refusal *model.Error) dialect {
	if refusal.Kind != model.BadRequest {
		return d
	}
	text, next := refusal.Message, d
	aboutThinking := wire.ContainsAny(text, "thinking", "output_config", "effort")
	limit := outputLimit.FindStringSubmatch(text)
	switch {
	case strings.HasPrefix(text, "messages."):
		next.noReasoning = d.noReasoning || aboutThinking
	case limit != nil && d.maxOutput == 0:
		next.maxOutput, _ = strconv.ParseInt(limit[1], 10, 64) // 0 if it overflows, which changes nothing
	case strings.Contains(text, "temperature"):
		next.noTemperature = true
	case aboutThinking && d.thinking < thinkNot:
		next.thinking++
	}
	return next
}
