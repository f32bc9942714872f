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

// recorded is a request as stored in the ledger. The next request of the agent usually appends messages to it and is stored as an
// edit, so that the bytes per iteration do not grow with the conversation.
type recorded struct {
	chain int64
	place int
	at    time.Time

	history agent.History
	summary string
	request model.Request // without its messages
	system  model.Message
	// conversation contains all messages of the request, the system message first. The first request that continues it shares its
	// memory; others copy it, because the first may still be in flight.
	conversation []model.Message
	continued    bool
	// Offsets in the request: the end of the system message, the end of the messages, and the start of the idempotency key.
	head, messages, key int64
}

// record stores the request of a call in its ledger form and returns the request that the next one may be based on.
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
		return before // it is stored on its own
	}
	next.chain = call.Seq
	call.Chain = next.chain
	next.measure(int64(len(call.Request)))
	return next
}

// next returns the request for a state. If the conversation is a continuation it reuses this request, so that the cost depends
// only on the new messages.
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

// measure sets the offsets for a request of this size.
func (r *recorded) measure(size int64) {
	const none = `"messages":null`
	head := encode(r.request)
	at := int64(bytes.Index(head, []byte(none)))
	r.head = at + int64(len(none)-len("null")+len("[")+len(encode(r.system)))
	r.messages = size - (int64(len(head)) - at - int64(len(none))) - int64(len("]"))
	r.key = size - int64(len(r.ending()))
}

// ending is the end of the encoded request, which differs in every call.
func (r *recorded) ending() []byte { return append(encode(r.request.IdempotencyKey), '}') }

func encode(v any) []byte {
	data, _ := plainjson.Marshal(v) // Encoding plain data cannot fail.
	return data
}

// edit returns the edit that makes the next request from this one, if it is a continuation. It also sets the offsets of the next
// one.
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

// newHead returns the edit for a changed system prompt, and the number of bytes by which the head grows.
func (r *recorded) newHead(next *recorded) (ledger.Edit, int64) {
	before, after := encode(r.system), encode(next.system)
	same := ledger.CommonPrefix(before, after)
	return ledger.Edit{{From: 0, To: r.head - int64(len(before)-same)}, {Text: string(after[same:])}}, int64(len(after) - len(before))
}

// alike reports whether two requests differ only in messages, system prompt and key.
func (r *recorded) alike(next *recorded) bool {
	a, b := &r.request, &next.request
	return a.Model == b.Model && a.ToolChoice == b.ToolChoice && a.MaxOutputTokens == b.MaxOutputTokens && a.TextOnly == b.TextOnly &&
		r.system.Role == next.system.Role && (a.IdempotencyKey == "") == (b.IdempotencyKey == "") &&
		(a.Temperature == nil) == (b.Temperature == nil) && (a.Temperature == nil || *a.Temperature == *b.Temperature) &&
		slices.EqualFunc(a.Tools, b.Tools, func(x, y model.Tool) bool {
			return x.Name == y.Name && x.Description == y.Description && bytes.Equal(x.Parameters, y.Parameters)
		})
}
