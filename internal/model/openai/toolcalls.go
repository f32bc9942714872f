// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// callBuilder assembles tool calls from their fragments.
type callBuilder struct {
	pending []*pendingCall
	byIndex map[int]int
}

type pendingCall struct {
	id, name  string
	arguments strings.Builder
	// checks counts how often the arguments were parsed to detect whether they are complete; the cost grows with
	// their length.
	checks int
}

// add adds a fragment and returns it with the index of its call.
func (b *callBuilder) add(piece *wireCall) (*model.ToolCallDelta, error) {
	at := b.callIndex(piece)
	call := b.pending[at]
	delta := &model.ToolCallDelta{Index: at, Arguments: string(piece.Function.Arguments)}
	call.id = cmp.Or(call.id, piece.ID)
	if name := piece.Function.Name; name != "" && name != call.name {
		call.name += name
		delta.Name = name
	}
	if err := wire.CheckCall(at, call.id, call.name); err != nil {
		return nil, err
	}
	call.arguments.WriteString(delta.Arguments)
	return delta, nil
}

// callIndex returns the index of the call that a fragment continues, or starts a new one. The index in the fragment
// decides, but some providers omit it, and some give every parallel call the index 0. In these cases a new ID starts
// a new call, as does a new name, or the same name after complete arguments.
func (b *callBuilder) callIndex(piece *wireCall) int {
	at, ok := len(b.pending)-1, len(b.pending) > 0
	if piece.Index != nil {
		at, ok = b.byIndex[*piece.Index]
	}
	if ok && !b.pending[at].belongsToOther(piece) {
		return at
	}
	b.pending = append(b.pending, &pendingCall{})
	at = len(b.pending) - 1
	if piece.Index != nil {
		if b.byIndex == nil {
			b.byIndex = map[int]int{}
		}
		b.byIndex[*piece.Index] = at
	}
	return at
}

// maxChecks bounds how many fragments of a call without an index may repeat its name.
const maxChecks = 100

// belongsToOther reports whether the fragment belongs to another call, whatever its index.
func (c *pendingCall) belongsToOther(piece *wireCall) bool {
	if piece.ID != "" && c.id != "" && piece.ID != c.id {
		return true
	}
	if piece.Index != nil || piece.Function.Name == "" || c.name == "" {
		return false
	}
	if piece.Function.Name != c.name {
		return true
	}
	c.checks++
	return c.checks <= maxChecks && json.Valid([]byte(c.arguments.String()))
}

func (b *callBuilder) calls() []model.ToolCall {
	if len(b.pending) == 0 {
		return nil
	}
	calls := make([]model.ToolCall, 0, len(b.pending))
	for _, c := range b.pending {
		calls = append(calls, model.ToolCall{ID: c.id, Name: c.name, Arguments: c.arguments.String()})
	}
	return calls
}
