// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// dialect describes which variant of the protocol an endpoint supports. The zero value suits almost all of them.
type dialect struct {
	// noStreamOptions: the endpoint rejects stream_options, so usage is unknown unless it is sent anyway.
	noStreamOptions bool
	// completionLimit: the model requires the output limit as max_completion_tokens and rejects max_tokens. The older
	// name is tried first, because a server that does not support the newer one ignores it and would reply without a
	// limit.
	completionLimit bool
	// noReasoningEffort: the model does not reason, or the endpoint does not support reasoning_effort.
	noReasoningEffort bool
}

func (d dialect) Lasting() dialect { return d }

func (d dialect) Suffix() string {
	return wire.Mark(d.noStreamOptions, "-nso") + wire.Mark(d.completionLimit, "-mct") + wire.Mark(d.noReasoningEffort, "-nre")
}

// After returns the dialect to use after an error, which is the same one if the error does not suggest another. That
// can happen once for each field.
func (d dialect) After(refusal *model.Error) dialect {
	if refusal.Kind != model.BadRequest {
		return d
	}
	switch {
	case strings.Contains(refusal.Message, "stream_options"):
		d.noStreamOptions = true
	case strings.Contains(refusal.Message, "max_tokens") && strings.Contains(refusal.Message, "max_completion_tokens"):
		d.completionLimit = true
	case strings.Contains(refusal.Message, "reasoning_effort"):
		d.noReasoningEffort = true
	}
	return d
}
