// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"encoding/json"
	"strings"
	"time"
)

// micros returns a time in microseconds since 1970, as both databases store it: ranges and durations are plain
// arithmetic.
func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }

// text makes any string valid for a text column: PostgreSQL accepts neither NUL nor invalid UTF-8, and an unusual error
// message of a provider must not block an agent.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// jsonText returns nil for empty JSON. JSON is stored as text, to preserve its bytes.
func jsonText(data json.RawMessage) any {
	if data == nil {
		return nil
	}
	return string(data)
}

// jsonList returns nil for an empty list.
func jsonList(items []string) any {
	if len(items) == 0 {
		return nil
	}
	// Encoding a slice of strings cannot fail.
	data, _ := json.Marshal(items)
	return text(string(data))
}

func number(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}
