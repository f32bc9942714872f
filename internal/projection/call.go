// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/internal/plainjson"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// longestValue and shortestValue bound what is left of the texts in the arguments of a call that is too long.
const (
	longestValue  = 512
	shortestValue = 16
)

// callText returns a call for the person who decides about it. If it is too long, its long arguments are shortened and not its end: otherwise one
// long argument (a commit message) could hide another (what is published).
func callText(tool, arguments string) string {
	text := tool + " " + arguments
	if utf8.RuneCountInString(text) <= maxWaitingText {
		return shorten.Head(text, maxWaitingText)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &fields) != nil {
		return shorten.Head(text, maxWaitingText)
	}
	for limit := longestValue; limit >= shortestValue; limit /= 2 {
		short := map[string]any{}
		for name, value := range fields {
			short[name] = shortValue(value, limit)
		}
		encoded, err := plainjson.Marshal(short)
		if text := tool + " " + string(encoded); err == nil && utf8.RuneCountInString(text) <= maxWaitingText {
			return text
		}
	}
	return shorten.Head(text, maxWaitingText)
}

// shortValue returns a value, or the beginning of its text.
func shortValue(value json.RawMessage, limit int) any {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return shorten.Head(text, limit)
	}
	if len(value) > limit {
		return shorten.Head(string(value), limit)
	}
	return value
}
