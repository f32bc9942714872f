// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"strings"
	"sync"
)

// dialect is what an endpoint understands of the protocol. The zero value is what almost all of them understand.
type dialect struct {
	// noStreamOptions: the endpoint refuses stream_options, so that usage stays unknown unless it comes unasked.
	noStreamOptions bool
	// completionLimit: the model wants the output limit as max_completion_tokens, and says so when it gets max_tokens.
	// The older name comes first because a server that does not know the newer one ignores it, and would answer
	// without a limit.
	completionLimit bool
}

// suffix tells the idempotency keys of one call in different dialects apart: they are different requests, and the answer
// to the one that was refused must not be repeated for the next.
func (d dialect) suffix() string {
	suffix := ""
	if d.noStreamOptions {
		suffix += "-nso"
	}
	if d.completionLimit {
		suffix += "-mct"
	}
	return suffix
}

// dialects remembers the dialect of each model, learned from refusals.
type dialects struct {
	mu    sync.Mutex
	known map[string]dialect
}

func (d *dialects) of(model string) dialect {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[model]
}

// learn reports whether the refusal of a call in the spoken dialect teaches another one to try. It can do so once for
// each field of dialect.
func (d *dialects) learn(model string, spoken dialect, err error) bool {
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Kind != BadRequest {
		return false
	}
	next := spoken
	switch {
	case strings.Contains(refusal.Message, "stream_options"):
		next.noStreamOptions = true
	case strings.Contains(refusal.Message, "max_tokens") && strings.Contains(refusal.Message, "max_completion_tokens"):
		next.completionLimit = true
	}
	if next == spoken {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[string]dialect{}
	}
	d.known[model] = next
	return true
}
