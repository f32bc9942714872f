// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package responses

import (
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// dialect describes what a model or endpoint does not support, as learned from rejected requests.
type dialect struct {
	// noReasoning: the model does not reason. noSummary: it does not summarize its reasoning for this account.
	noReasoning, noSummary bool
	// noEncrypted: the model has no encrypted reasoning.
	noEncrypted bool
}

func (d dialect) Lasting() dialect { return d }

func (d dialect) Suffix() string {
	return wire.Mark(d.noReasoning, "-nre") + wire.Mark(d.noSummary, "-nsu") + wire.Mark(d.noEncrypted, "-nen")
}

// After returns the dialect to use after an error, which is the same one if the error does not suggest another.
func (d dialect) After(refusal *model.Error) dialect {
	if refusal.Kind != model.BadRequest && refusal.Kind != model.Unauthorized {
		return d
	}
	text := strings.ToLower(refusal.Message)
	switch {
	case strings.Contains(text, "summar"): // also: "Your organization must be verified to generate reasoning summaries"
		d.noSummary = true
	case refusal.Kind == model.Unauthorized:
	case strings.Contains(text, "encrypted"):
		d.noEncrypted = true
	case strings.Contains(text, "reasoning.effort"), strings.Contains(text, "'reasoning'"):
		d.noReasoning = true
	}
	return d
}
