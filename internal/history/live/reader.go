// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
)

// Reader follows one agent. Its fields belong to the hub's lock, and its methods to one goroutine.
type Reader struct {
	hub     *Hub
	uid     string
	woken   chan struct{}
	changed bool
	call    string
	read    int
}

// News is what has come since a reader last looked.
type News struct {
	// Changed says that the agent has moved on, so that the ledger has something new.
	Changed bool
	// Call is the model call whose reply streams in, Pieces what is new of it. Neighbours of a kind have become one.
	Call   string
	Pieces []model.Delta
	// Lost says that more of the reply came than is kept.
	Lost bool
}

// Woken has something when there is news.
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

// Close ends the reading.
func (r *Reader) Close() {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	delete(r.hub.feeds[r.uid].readers, r)
	r.hub.tidy(r.uid)
}

// join makes one piece of neighbours of a kind.
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

// pieceKind is what a piece continues; the zero value is a piece that stands for itself.
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

// sum adds up pieces of one kind.
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
