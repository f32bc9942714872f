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
	woken   chan struct{}
	changed bool
	call    string
	read    int
}

// News is what has happened since the last read.
type News struct {
	// Changed means that the agent has advanced, so that the ledger has new events.
	Changed bool
	// Call is the model call of the streamed reply, and Pieces its new deltas. Adjacent deltas of a kind are merged.
	Call   string
	Pieces []model.Delta
	// Lost means that the reply is longer than the buffer.
	Lost bool
}

// Woken receives a value when there is news.
func (r *Reader) Woken() <-chan struct{} { return r.woken }

// News returns what is new.
func (r *Reader) News() News {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	f := r.hub.feeds[r.uid]
	news := News{Changed: r.changed, Call: f.call, Lost: f.lost}
	r.changed = false
	if r.call != f.call {
		r.call, r.read = f.call, 0
	}
	news.Pieces = join(f.pieces[r.read:])
	r.read = len(f.pieces)
	return news
}

// Close stops following.
func (r *Reader) Close() {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	delete(r.hub.feeds[r.uid].readers, r)
	r.hub.tidy(r.uid)
}

// join merges adjacent deltas of a kind.
func join(pieces []model.Delta) []model.Delta {
	var joined []model.Delta
	for len(pieces) > 0 {
		kind, n := kindOf(pieces[0]), 1
		for n < len(pieces) && kind != (pieceKind{}) && kindOf(pieces[n]) == kind {
			n++
		}
		joined = append(joined, sum(pieces[:n]))
		pieces = pieces[n:]
	}
	return joined
}

// pieceKind is what a delta continues; the zero value is a delta that cannot be merged.
type pieceKind struct {
	text, reasoning, refusal bool
	call                     int
}

func kindOf(p model.Delta) pieceKind {
	kind := pieceKind{text: p.Text != "", reasoning: p.Reasoning != "", refusal: p.Refusal != ""}
	if p.ToolCall == nil {
		return kind
	}
	if kind != (pieceKind{}) {
		return pieceKind{}
	}
	return pieceKind{call: p.ToolCall.Index + 1}
}

// sum concatenates deltas of one kind.
func sum(pieces []model.Delta) model.Delta {
	if len(pieces) == 1 {
		return pieces[0]
	}
	var text, reasoning, refusal, name, arguments strings.Builder
	for _, p := range pieces {
		text.WriteString(p.Text)
		reasoning.WriteString(p.Reasoning)
		refusal.WriteString(p.Refusal)
		if p.ToolCall != nil {
			name.WriteString(p.ToolCall.Name)
			arguments.WriteString(p.ToolCall.Arguments)
		}
	}
	total := model.Delta{Text: text.String(), Reasoning: reasoning.String(), Refusal: refusal.String()}
	if call := pieces[0].ToolCall; call != nil {
		total.ToolCall = &model.ToolCallDelta{Index: call.Index, Name: name.String(), Arguments: arguments.String()}
	}
	return total
}
