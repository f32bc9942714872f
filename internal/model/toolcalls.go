// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"fmt"
	"strings"
)

// callBuilder assembles tool calls from their fragments.
type callBuilder struct {
	building []*buildingCall
	byIndex  map[int]int
}

type buildingCall struct {
	id, name  string
	arguments strings.Builder
	// checked counts the checks whether the arguments are complete, each of which costs more than the last.
	checked int
}

// add adds a fragment and returns it with the index of its call.
func (b *callBuilder) add(piece *wireCall) (*ToolCallDelta, error) {
	at := b.callIndex(piece)
	if at >= maxToolCalls {
		return nil, oversized(fmt.Sprintf("the provider's reply has more than %d tool calls", maxToolCalls))
	}
	call := b.building[at]
	delta := &ToolCallDelta{Index: at, Arguments: string(piece.Function.Arguments)}
	call.id = firstNonEmpty(call.id, piece.ID)
	if name := piece.Function.Name; name != "" && name != call.name {
		call.name += name
		delta.Name = name
	}
	if len(call.name) > maxCallName || len(call.id) > maxCallID {
		return nil, oversized("the provider's reply calls a tool by a name or an id that is too long")
	}
	call.arguments.WriteString(delta.Arguments)
	return delta, nil
}

// callIndex returns the index of the call that a fragment continues, or starts a new one. The index in the fragment
// decides, but some providers omit it, and some give every parallel call the index 0. In these cases a new ID starts
// a new call, as does a new name, or the same name after complete arguments.
func (b *callBuilder) callIndex(piece *wireCall) int {
	at, known := len(b.building)-1, len(b.building) > 0
	if piece.Index != nil {
		at, known = b.byIndex[*piece.Index]
	}
	if known && !b.building[at].belongsToOther(piece) {
		return at
	}
	b.building = append(b.building, &buildingCall{})
	at = len(b.building) - 1
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
func (c *buildingCall) belongsToOther(piece *wireCall) bool {
	if piece.ID != "" && c.id != "" && piece.ID != c.id {
		return true
	}
	if piece.Index != nil || piece.Function.Name == "" || c.name == "" {
		return false
	}
	if piece.Function.Name != c.name {
		return true
	}
	c.checked++
	return c.checked <= maxChecks && json.Valid([]byte(c.arguments.String()))
}

func (b *callBuilder) calls() []ToolCall {
	if len(b.building) == 0 {
		return nil
	}
	calls := make([]ToolCall, 0, len(b.building))
	for _, c := range b.building {
		calls = append(calls, ToolCall{ID: c.id, Name: c.name, Arguments: c.arguments.String()})
	}
	return calls
}

// finishCalls checks the arguments of the calls and makes their IDs unique among themselves and in the history,
// deterministically.
func finishCalls(calls []ToolCall, finish FinishReason, history []Message) []ToolCall {
	if len(calls) == 0 {
		return nil
	}
	used := map[string]bool{}
	for _, m := range history {
		for _, call := range m.ToolCalls {
			used[call.ID] = true
		}
	}
	for i := range calls {
		c := &calls[i]
		c.ID = uniqueID(c.ID, i, used)
		used[c.ID] = true
		c.Arguments, c.ArgumentsError = checkArguments(c.Arguments, finish)
	}
	return calls
}

func uniqueID(id string, i int, used map[string]bool) string {
	if id == "" {
		id = fmt.Sprintf("call-%d", i+1)
	}
	unique := id
	for n := 2; used[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", id, n)
	}
	return unique
}

// checkArguments returns the arguments if they are a JSON object, or the original text with a description of the
// error. Many providers send an empty text for a tool without parameters.
func checkArguments(arguments string, finish FinishReason) (string, string) {
	trimmed := strings.TrimSpace(arguments)
	if trimmed == "" || trimmed == "null" {
		return "{}", ""
	}
	var object map[string]json.RawMessage
	err := json.Unmarshal([]byte(trimmed), &object)
	switch {
	case err == nil:
		return trimmed, ""
	case finish == FinishLength:
		return arguments, "the arguments were cut off at the output limit; make the call again with shorter arguments"
	case json.Valid([]byte(trimmed)):
		return arguments, "the arguments are JSON, but not an object"
	}
	return arguments, "the arguments are not a JSON object: " + err.Error()
}
