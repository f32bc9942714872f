// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package responses

import (
	"errors"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
)

// dialect describes what a model or endpoint does not support, as learned from rejected requests.
type dialect struct {
	// noReasoning: the model does not reason. noSummary: it does not summarize its reasoning for this account.
	noReasoning, noSummary bool
	// noEncrypted: the model has no encrypted reasoning.
	noEncrypted bool
}

// suffix distinguishes the idempotency keys of one call in different dialects.
func (d dialect) suffix() string {
	suffix := ""
	for _, learned := range []struct {
		is   bool
		name string
	}{{d.noReasoning, "-nre"}, {d.noSummary, "-nsu"}, {d.noEncrypted, "-nen"}} {
		if learned.is {
			suffix += learned.name
		}
	}
	return suffix
}

// after returns the dialect to use after an error, which is the same one if the error does not suggest another.
func (d dialect) after(err error) dialect {
	var refusal *model.Error
	if !errors.As(err, &refusal) || refusal.Kind != model.BadRequest && refusal.Kind != model.Unauthorized {
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
