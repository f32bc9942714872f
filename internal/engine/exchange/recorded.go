// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/plainjson"
)

// Recorded is a request as stored in the ledger. The next request of the agent usually appends messages to it and is
// stored as an edit, so that the bytes per iteration do not grow with the conversation.
type Recorded struct {
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
	// resumed reports that it is the request of another agent, which a fork continues.
	resumed bool
	// Offsets in the request: the end of the system message, the end of the messages, and the start of the idempotency key.
	headEnd, messagesEnd, keyStart int64
}

// Record stores a request in the row of its call and returns the request that the next one may be based on. before may be nil.
func Record(call *ledger.ModelCall, req model.Request, s agent.State, before *Recorded) *Recorded {
	next := &Recorded{at: call.StartedAt, history: s.History, summary: s.Summary, request: req}
	next.request.Messages = nil
	if next.conversation = req.Messages; len(next.conversation) > 0 {
		next.system = next.conversation[0]
	}
	isTurn := s.ModelCall.Purpose == agent.PurposeTurn
	if edit, ok := before.edit(s, next); ok && isTurn && call.Seq > before.chain {
		next.chain, next.place = before.chain, before.place+1
		call.Request, call.Chain, call.Place = edit.Encode(), next.chain, next.place
		return next
	}
	call.Request = Encode(req)
	if !isTurn || next.system.Role != model.RoleSystem || (before != nil && before.chain == call.Seq) {
		return before // it is stored on its own
	}
	next.chain = call.Seq
	call.Chain = next.chain
	next.setOffsets(int64(len(call.Request)))
	return next
}

// Resume returns a request of the ledger, on which the first request of a fork may be based. s is the state for which it was made. It
// returns nil if the request is not in a chain that can be continued.
func Resume(call ledger.ModelCall, s agent.State, now time.Time) *Recorded {
	var req model.Request
	if call.Chain == 0 || !call.PrunedAt.IsZero() || json.Unmarshal(call.Request, &req) != nil || !bytes.Equal(Encode(req), call.Request) ||
		len(req.Messages) == 0 || req.Messages[0].Role != model.RoleSystem {
		return nil
	}
	// The chain is kept as long as there are forks, so its age does not matter.
	r := &Recorded{resumed: true, chain: call.Chain, place: call.Place, at: now, history: s.History, summary: s.Summary, request: req, system: req.Messages[0], conversation: req.Messages}
	r.request.Messages = nil
	r.setOffsets(int64(len(call.Request)))
	return r
}

// Next returns the request for a state. If the conversation is a continuation it reuses this request, so that the cost depends
// only on the new messages.
func (r *Recorded) Next(s agent.State) model.Request {
	if r == nil || r.system.Role != model.RoleSystem {
		return newRequest(agent.BuildPrompt(s))
	}
	added, ok := agent.PromptGrowth(s, r.history, r.summary)
	if !ok {
		return newRequest(agent.BuildPrompt(s))
	}
	req := newRequest(agent.PromptHead(s))
	switch {
	case len(req.Messages) == 0: // without a system prompt
		return newRequest(agent.BuildPrompt(s))
	case req.Messages[0].Text == r.system.Text && !r.continued:
		req.Messages, r.continued = r.conversation, true
	default:
		req.Messages = append(req.Messages, r.conversation[1:]...)
	}
	for _, m := range added {
		req.Messages = append(req.Messages, Message(m))
	}
	return req
}

func (r *Recorded) setOffsets(size int64) {
	const none = `"messages":null`
	head := Encode(r.request)
	at := int64(bytes.Index(head, []byte(none)))
	r.headEnd = at + int64(len(none)-len("null")+len("[")+len(Encode(r.system)))
	r.messagesEnd = size - (int64(len(head)) - at - int64(len(none))) - int64(len("]"))
	r.keyStart = size - int64(len(r.suffix()))
}

// suffix returns the end of the encoded request, which differs in every call.
func (r *Recorded) suffix() []byte { return append(Encode(r.request.IdempotencyKey), '}') }

// Encode returns data in the form in which the ledger stores it.
func Encode(v any) []byte {
	data, _ := plainjson.Marshal(v) // Encoding plain data cannot fail.
	return data
}

// edit returns the edit that makes the next request from this one, if it is a continuation. It also sets the offsets of the next
// one.
func (r *Recorded) edit(s agent.State, next *Recorded) (ledger.Edit, bool) {
	if r == nil || next.at.Sub(r.at) > ledger.ChainMaxAge {
		return nil, false
	}
	added, ok := agent.PromptGrowth(s, r.history, r.summary)
	if !ok {
		return nil, false
	}
	if !r.sameExceptMessages(next) {
		return r.editForFork(next, added)
	}
	edit := ledger.Edit{{From: 0, To: r.messagesEnd}}
	grown := int64(0)
	if next.system.Text != r.system.Text {
		var head ledger.Edit
		head, grown = r.editHead(next)
		edit = append(head, ledger.Piece{From: r.headEnd, To: r.messagesEnd})
	}
	next.headEnd, next.messagesEnd = r.headEnd+grown, r.messagesEnd+grown
	if len(added) > 0 {
		values := make([]json.RawMessage, len(added))
		for i, m := range added {
			values[i] = Encode(Message(m))
			next.messagesEnd += int64(len(",") + len(values[i]))
		}
		edit = append(edit, ledger.Piece{Values: values})
	}
	next.keyStart = next.messagesEnd + r.keyStart - r.messagesEnd
	return append(edit, ledger.Piece{From: r.messagesEnd, To: r.keyStart}, ledger.Piece{Text: string(next.suffix())}), true
}

// editForFork returns the edit for a request that differs in more than messages, such as the model. Only a fork has one: the requests of other
// agents begin a new chain.
func (r *Recorded) editForFork(next *Recorded, added []agent.Message) (ledger.Edit, bool) {
	if !r.resumed || next.system.Role != model.RoleSystem || r.request.IdempotencyKey == "" || next.request.IdempotencyKey == "" {
		return nil, false
	}
	before, tailBefore := r.frame()
	after, tailAfter := next.frame()
	edit := replace(nil, 0, before, after)
	edit = append(edit, ledger.Piece{From: r.headEnd, To: r.messagesEnd})
	next.headEnd = int64(len(after))
	next.messagesEnd = next.headEnd + r.messagesEnd - r.headEnd
	if len(added) > 0 {
		values := make([]json.RawMessage, len(added))
		for i, m := range added {
			values[i] = Encode(Message(m))
			next.messagesEnd += int64(len(",") + len(values[i]))
		}
		edit = append(edit, ledger.Piece{Values: values})
	}
	next.keyStart = next.messagesEnd + int64(len(tailAfter)-len(next.suffix()))
	return replace(edit, r.messagesEnd, tailBefore, tailAfter), true
}

// frame returns the parts of the encoded request before its second message and after its last one.
func (r *Recorded) frame() (head, tail []byte) {
	const list = `"messages":`
	encoded := Encode(r.request)
	at := bytes.Index(encoded, []byte(list+"null")) + len(list)
	head = slices.Concat(encoded[:at], []byte("["), Encode(r.system))
	return head, append([]byte("]"), encoded[at+len("null"):]...)
}

// replace adds the pieces that replace bytes at an offset to an edit. What both have at their ends is taken from the previous request.
func replace(edit ledger.Edit, offset int64, before, after []byte) ledger.Edit {
	start := ledger.CommonPrefix(before, after)
	end := 0
	for end < min(len(before), len(after))-start && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	for end > 0 && !utf8.RuneStart(after[len(after)-end]) {
		end--
	}
	if start > 0 {
		edit = append(edit, ledger.Piece{From: offset, To: offset + int64(start)})
	}
	if text := after[start : len(after)-end]; len(text) > 0 {
		edit = append(edit, ledger.Piece{Text: string(text)})
	}
	if end > 0 {
		edit = append(edit, ledger.Piece{From: offset + int64(len(before)-end), To: offset + int64(len(before))})
	}
	return edit
}

// editHead returns the edit for a changed system prompt, and the number of bytes by which the head grows.
func (r *Recorded) editHead(next *Recorded) (ledger.Edit, int64) {
	before, after := Encode(r.system), Encode(next.system)
	same := ledger.CommonPrefix(before, after)
	return ledger.Edit{{From: 0, To: r.headEnd - int64(len(before)-same)}, {Text: string(after[same:])}}, int64(len(after) - len(before))
}

// sameExceptMessages reports whether two requests differ only in messages, system prompt and key.
func (r *Recorded) sameExceptMessages(next *Recorded) bool {
	a, b := &r.request, &next.request
	return a.Model == b.Model && a.ToolChoice == b.ToolChoice && a.MaxOutputTokens == b.MaxOutputTokens && a.TextOnly == b.TextOnly && a.ReasoningEffort == b.ReasoningEffort &&
		r.system.Role == next.system.Role && (a.IdempotencyKey == "") == (b.IdempotencyKey == "") &&
		(a.Temperature == nil) == (b.Temperature == nil) && (a.Temperature == nil || *a.Temperature == *b.Temperature) &&
		slices.EqualFunc(a.Tools, b.Tools, func(x, y model.Tool) bool {
			return x.Name == y.Name && x.Description == y.Description && bytes.Equal(x.Parameters, y.Parameters)
		})
}
