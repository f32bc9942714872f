// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine/exchange"
)

// maxPartial is how much of the beginning of a streamed reply is kept, in bytes.
const maxPartial = 256 << 10

// partialReply is the text that has arrived of the model call in flight. It is recorded only if a person stops the reply; a crash
// loses it, and the call is made again.
type partialReply struct {
	key  string // of the effect
	text strings.Builder
}

// addPartial adds a piece of the reply to a model call.
func (a *actor) addPartial(e agent.CallModel, text string) {
	if text == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.partial.key != e.Key() {
		a.partial = partialReply{key: e.Key()}
	}
	a.partial.text.WriteString(text[:min(len(text), maxPartial-a.partial.text.Len())])
}

// partialOf returns the text that has arrived of the model call in flight.
func (a *actor) partialOf(call *agent.ModelCall) string {
	if call == nil {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.partial.key != (agent.CallModel{Call: call.ID, Attempt: call.Attempt}).Key() {
		return ""
	}
	return exchange.ValidUTF8(a.partial.text.String())
}
