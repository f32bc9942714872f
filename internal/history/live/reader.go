// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
)

// Reader follows one agent. The hub's lock guards its fields; only one goroutine may call its methods.
type Reader struct {
	hub     *Hub
	uid     string
	updates chan struct{}
	changed bool
	resets  int // of the feed, at the last read
	read    int // number of deltas read since then
}

// Update is what has happened since the last read.
//
// Its JSON is the format of the streams between replicas, which may run different releases.
type Update struct {
	// Changed means that the agent has advanced, so that the ledger has new events.
	Changed bool `json:"changed,omitempty"`
	// Call is the model call of the streamed reply, and Deltas its new deltas. Adjacent deltas of a kind are merged.
	Call   string        `json:"call,omitempty"`
	Deltas []model.Delta `json:"deltas,omitempty"`
	// Truncated means that the reply is longer than the buffer.
	Truncated bool `json:"truncated,omitempty"`
}

// Updates returns a channel that receives a value when there is an update to read.
func (r *Reader) Updates() <-chan struct{} { return r.updates }

func (r *Reader) Read() Update {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	f := r.hub.feeds[r.uid]
	update := Update{Changed: r.changed, Call: f.call, Truncated: f.truncated}
	r.changed = false
	if r.resets != f.resets {
		r.resets, r.read = f.resets, 0
	}
	update.Deltas = mergeDeltas(f.deltas[r.read:])
	r.read = len(f.deltas)
	return update
}

// Close stops following.
func (r *Reader) Close() {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	delete(r.hub.feeds[r.uid].readers, r)
	r.hub.dropIfEmpty(r.uid)
}

func mergeDeltas(deltas []model.Delta) []model.Delta {
	var merged []model.Delta
	for len(deltas) > 0 {
		kind, n := kindOf(deltas[0]), 1
		for n < len(deltas) && kind != (deltaKind{}) && kindOf(deltas[n]) == kind {
			n++
		}
		merged = append(merged, concatDeltas(deltas[:n]))
		deltas = deltas[n:]
	}
	return merged
}

// deltaKind is what a delta continues; the zero value is a delta that cannot be merged.
type deltaKind struct {
	text, reasoning, refusal bool
	call                     int
}

func kindOf(p model.Delta) deltaKind {
	kind := deltaKind{text: p.Text != "", reasoning: p.Reasoning != "", refusal: p.Refusal != ""}
	if p.ToolCall == nil {
		return kind
	}
	if kind != (deltaKind{}) {
		return deltaKind{}
	}
	return deltaKind{call: p.ToolCall.Index + 1}
}

func concatDeltas(deltas []model.Delta) model.Delta {
	if len(deltas) == 1 {
		return deltas[0]
	}
	var text, reasoning, refusal, name, arguments strings.Builder
	for _, p := range deltas {
		text.WriteString(p.Text)
		reasoning.WriteString(p.Reasoning)
		refusal.WriteString(p.Refusal)
		if p.ToolCall != nil {
			name.WriteString(p.ToolCall.Name)
			arguments.WriteString(p.ToolCall.Arguments)
		}
	}
	total := model.Delta{Text: text.String(), Reasoning: reasoning.String(), Refusal: refusal.String()}
	if call := deltas[0].ToolCall; call != nil {
		total.ToolCall = &model.ToolCallDelta{Index: call.Index, Name: name.String(), Arguments: arguments.String()}
	}
	return total
}
