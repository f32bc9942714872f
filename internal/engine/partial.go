// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/engine/exchange"
)

// maxPartial is how much of the beginning of a streamed reply is kept, in bytes.
const maxPartial = 256 << 10

// partialReply is the text that has arrived of the model call in flight. It is recorded only if a person stops the
// reply; a crash loses it, and the call is made again.
type partialReply struct {
	key  string // of the effect
	text strings.Builder
	// received is the number of tokens of all parts, and usage returns the usage of a call that is stopped after them.
	received int64
	usage    func(received int64) budget.Usage
}

// beginPartial begins the reply to a model call.
func (a *actor) beginPartial(e agent.CallModel, usage func(received int64) budget.Usage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.partial = partialReply{key: e.Key(), usage: usage}
}

// addPartial adds a piece of the reply to a model call.
func (a *actor) addPartial(e agent.CallModel, text string, tokens int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.partial.key != e.Key() {
		return // a call that was stopped, and another one has begun
	}
	a.partial.text.WriteString(text[:min(len(text), maxPartial-a.partial.text.Len())])
	a.partial.received += tokens
}

// stopped adds what has arrived of the model call in flight to the fact that stops it.
func (a *actor) stopped(f agent.Cancelled, call *agent.ModelCall) agent.Cancelled {
	f.Reply = a.partialText(call)
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := &a.partial; p.belongsTo(call) && p.received > 0 {
		used := p.usage(p.received)
		f.Usage = &used
	}
	return f
}

func (p *partialReply) belongsTo(call *agent.ModelCall) bool {
	return call != nil && p.key == agent.CallModel{Call: call.ID, Attempt: call.Attempt}.Key()
}

// partialText returns the text that has arrived of the model call in flight.
func (a *actor) partialText(call *agent.ModelCall) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.partial.belongsTo(call) {
		return ""
	}
	return exchange.ValidUTF8(a.partial.text.String())
}
