// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/plainjson"
)

// recorded is a request as the ledger has it. The next one of the agent mostly adds some messages to it, and is recorded as an edit: what
// a turn records does not grow with the conversation.
type recorded struct {
	chain int64
	place int
	at    time.Time

	history agent.History
	summary string
	request model.Request // without its messages
	system  model.Message
	// conversation are all messages of the request, the system's first. The one request that continues it shares its memory; any other
	// one copies it, since the first may still be in flight.
	conversation []model.Message
	continued    bool
	// The bytes of the request up to the end of the system message, to the end of the messages, and before the idempotency key.
	head, messages, key int64
}

// record puts the request of a call into the ledger's form, and returns what the next request may be an edit of.
func (c plannedCall) record(call *ledger.ModelCall, s agent.State, before *recorded) *recorded {
	next := &recorded{at: call.StartedAt, history: s.History, summary: s.Summary, request: c.request}
	next.request.Messages = nil
	if next.conversation = c.request.Messages; len(next.conversation) > 0 {
		next.system = next.conversation[0]
	}
	turn := s.Request.Purpose == agent.PurposeTurn
	if edit, ok := before.edit(s, next); ok && turn && call.Seq > before.chain {
		next.chain, next.place = before.chain, before.place+1
		call.Request, call.Chain, call.Place = edit.Encode(), next.chain, next.place
		return next
	}
	call.Request = encode(c.request)
	if !turn || next.system.Role != model.RoleSystem || (before != nil && before.chain == call.Seq) {
		return before // it stands alone
	}
	next.chain = call.Seq
	call.Chain = next.chain
	next.measure(int64(len(call.Request)))
	return next
}

// next is the request for what a state is about to say. It continues this one where the conversation simply goes on, so that a turn
// costs what is new in it.
func (r *recorded) next(s agent.State) model.Request {
	if r == nil || r.system.Role != model.RoleSystem {
		return request(agent.BuildPrompt(s))
	}
	added, ok := agent.PromptGrowth(s, r.history, r.summary)
	if !ok {
		return request(agent.BuildPrompt(s))
	}
	req := request(agent.PromptHead(s))
	switch {
	case len(req.Messages) == 0: // without a system prompt
		return request(agent.BuildPrompt(s))
	case req.Messages[0].Text == r.system.Text && !r.continued:
		req.Messages, r.continued = r.conversation, true
	default:
		req.Messages = append(req.Messages, r.conversation[1:]...)
	}
	for _, m := range added {
		req.Messages = append(req.Messages, message(m))
	}
	return req
}

// measure finds the bounds in a request of so many bytes.
func (r *recorded) measure(size int64) {
	const none = `"messages":null`
	head := encode(r.request)
	at := int64(bytes.Index(head, []byte(none)))
	r.head = at + int64(len(none)-len("null")+len("[")+len(encode(r.system)))
	r.messages = size - (int64(len(head)) - at - int64(len(none))) - int64(len("]"))
	r.key = size - int64(len(r.ending()))
}

// ending is how a request ends: it differs from call to call.
func (r *recorded) ending() []byte { return append(encode(r.request.IdempotencyKey), '}') }

func encode(v any) []byte {
	data, _ := plainjson.Marshal(v) // What is encoded here is plain data.
	return data
}

// edit is how the next request is made of this one, if it continues it. It also finds the bounds in the next one.
func (r *recorded) edit(s agent.State, next *recorded) (ledger.Edit, bool) {
	if r == nil || next.at.Sub(r.at) > ledger.ChainReach || !r.alike(next) {
		return nil, false
	}
	added, ok := agent.PromptGrowth(s, r.history, r.summary)
	if !ok {
		return nil, false
	}
	edit := ledger.Edit{{From: 0, To: r.messages}}
	grown := int64(0)
	if next.system.Text != r.system.Text {
		var head ledger.Edit
		head, grown = r.newHead(next)
		edit = append(head, ledger.Piece{From: r.head, To: r.messages})
	}
	next.head, next.messages = r.head+grown, r.messages+grown
	if len(added) > 0 {
		values := make([]json.RawMessage, len(added))
		for i, m := range added {
			values[i] = encode(message(m))
			next.messages += int64(len(",") + len(values[i]))
		}
		edit = append(edit, ledger.Piece{Values: values})
	}
	next.key = next.messages + r.key - r.messages
	return append(edit, ledger.Piece{From: r.messages, To: r.key}, ledger.Piece{Text: string(next.ending())}), true
}

// newHead returns the edit for a changed system prompt, and by how many bytes the beginning of the request grows.
func (r *recorded) newHead(next *recorded) (ledger.Edit, int64) {
	before, after := encode(r.system), encode(next.system)
	same := ledger.CommonPrefix(before, after)
	return ledger.Edit{{From: 0, To: r.head - int64(len(before)-same)}, {Text: string(after[same:])}}, int64(len(after) - len(before))
}

// alike says whether two requests differ in nothing but their messages, the system prompt and the key.
func (r *recorded) alike(next *recorded) bool {
	a, b := &r.request, &next.request
	return a.Model == b.Model && a.ToolChoice == b.ToolChoice && a.MaxOutputTokens == b.MaxOutputTokens && a.TextOnly == b.TextOnly &&
		r.system.Role == next.system.Role && (a.IdempotencyKey == "") == (b.IdempotencyKey == "") &&
		(a.Temperature == nil) == (b.Temperature == nil) && (a.Temperature == nil || *a.Temperature == *b.Temperature) &&
		slices.EqualFunc(a.Tools, b.Tools, func(x, y model.Tool) bool {
			return x.Name == y.Name && x.Description == y.Description && bytes.Equal(x.Parameters, y.Parameters)
		})
}
