// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// event has those fields of all stream events that are used here. It is laxer than the SDK's types, because gateways
// for other models also implement this API.
type event struct {
	Type         string          `json:"type"`
	Message      message         `json:"message"`
	Index        int             `json:"index"`
	ContentBlock block           `json:"content_block"`
	Delta        delta           `json:"delta"`
	Usage        *wireUsage      `json:"usage"`
	Error        json.RawMessage `json:"error"`
}

// message is a reply, or its beginning in a stream.
type message struct {
	Type        string          `json:"type"`
	ID          string          `json:"id"`
	Model       string          `json:"model"`
	Content     []block         `json:"content"`
	StopReason  string          `json:"stop_reason"`
	StopDetails stopDetails     `json:"stop_details"`
	Usage       *wireUsage      `json:"usage"`
	Error       json.RawMessage `json:"error"`
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

type delta struct {
	Text        string      `json:"text"`
	Thinking    string      `json:"thinking"`
	Signature   string      `json:"signature"`
	PartialJSON string      `json:"partial_json"`
	StopReason  string      `json:"stop_reason"`
	StopDetails stopDetails `json:"stop_details"`
}

type stopDetails struct {
	Explanation string `json:"explanation"`
}

// readReply reads the reply to a request, streamed or not.
func readReply(body io.ReadCloser, req model.Request, listen func(model.Delta)) (model.Reply, error) {
	a := accumulator{listen: listen, byIndex: map[int]*building{}}
	err := wire.ReadBody(body, wire.Parts{Whole: a.addWhole, Event: a.addEvent})
	switch {
	case err != nil:
		return model.Reply{}, err
	case !a.started:
		return model.Reply{}, wire.Malformed("the provider answered without a message of the Messages API")
	case !a.done && a.stop == "":
		return model.Reply{}, wire.Truncated()
	}
	return a.reply(req), nil
}

type accumulator struct {
	listen            func(model.Delta)
	started, done     bool
	id, model         string
	stop, explanation string
	usage             *wireUsage
	text, reasoning   strings.Builder
	blocks            []*building
	byIndex           map[int]*building
	calls, size       int
}

type building struct {
	kind            string
	id, name        string
	call            int // counts the tool calls
	text, signature strings.Builder
	data            string
	whole           bool // the arguments came with the beginning of the block
}

// The types of blocks that are used. Others are ignored.
const (
	blockText     = "text"
	blockThinking = "thinking"
	blockRedacted = "redacted_thinking"
	blockToolUse  = "tool_use"
)

// addWhole adds a reply that is not streamed.
func (a *accumulator) addWhole(data []byte) error {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return wire.NotJSON(err)
	}
	if wire.IsSet(m.Error) {
		return wire.Reported(0, nil, data)
	}
	a.started, a.done = m.Type == "message" || m.Content != nil, true
	return a.addMessage(&m)
}

func (a *accumulator) addEvent(data []byte) (bool, error) {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return false, wire.NotJSON(err)
	}
	if e.Type == "error" || wire.IsSet(e.Error) {
		return false, wire.Reported(0, nil, data)
	}
	switch e.Type {
	case "message_start":
		a.started = true
		return false, a.addMessage(&e.Message)
	case "content_block_start":
		return false, a.begin(e.Index, &e.ContentBlock)
	case "content_block_delta":
		return false, a.add(e.Index, &e.Delta)
	case "message_delta":
		a.end(e.Delta.StopReason, e.Delta.StopDetails, e.Usage)
	case "message_stop":
		a.done = true
		return true, nil
	}
	return false, nil
}

func (a *accumulator) addMessage(m *message) error {
	a.id, a.model = m.ID, m.Model
	a.end(m.StopReason, m.StopDetails, m.Usage)
	for i := range m.Content {
		if err := a.begin(i, &m.Content[i]); err != nil {
			return err
		}
	}
	return nil
}

func (a *accumulator) end(reason string, details stopDetails, usage *wireUsage) {
	a.stop, a.explanation = cmp.Or(reason, a.stop), cmp.Or(details.Explanation, a.explanation)
	a.usage = a.usage.merge(usage)
}

// blockSize is the size that a block counts in addition to its texts.
const blockSize = 64

// grow counts what the reply contains so far.
func (a *accumulator) grow(n int) error {
	a.size += n
	return wire.CheckSize(a.size)
}

// begin begins a block. In a stream it has no content yet, except with some gateways.
func (a *accumulator) begin(index int, b *block) error {
	building := &building{kind: b.Type, id: b.ID, name: b.Name, data: b.Data}
	if err := a.grow(blockSize + len(b.ID) + len(b.Name) + len(b.Data)); err != nil {
		return err
	}
	a.blocks = append(a.blocks, building)
	a.byIndex[index] = building
	if b.Type == blockToolUse {
		return a.beginCall(building, b.Input)
	}
	return a.addTo(building, &delta{Text: b.Text, Thinking: b.Thinking, Signature: b.Signature})
}

func (a *accumulator) beginCall(b *building, input json.RawMessage) error {
	b.call = a.calls
	a.calls++
	if err := wire.CheckCall(b.call, b.id, b.name); err != nil {
		return err
	}
	first := &model.ToolCallDelta{Index: b.call, Name: b.name}
	if arguments := callInput(input); arguments != "" {
		if err := a.grow(len(arguments)); err != nil {
			return err
		}
		b.whole = true
		b.text.WriteString(arguments)
		first.Arguments = arguments
	}
	a.listen(model.Delta{ToolCall: first})
	return nil
}

// callInput returns arguments that came at once: an object, or text if they are not one. It is empty for the empty
// object with which a stream begins.
func callInput(input json.RawMessage) string {
	input = bytes.TrimSpace(input)
	var text string
	switch {
	case !wire.IsSet(input), bytes.Equal(input, []byte("{}")):
		return ""
	case json.Unmarshal(input, &text) == nil:
		return text
	}
	return string(input)
}

// add adds a piece of a block. A block that was not begun is ignored.
func (a *accumulator) add(index int, d *delta) error {
	if b := a.byIndex[index]; b != nil {
		return a.addTo(b, d)
	}
	return nil
}

func (a *accumulator) addTo(b *building, d *delta) error {
	if err := a.grow(len(d.Text) + len(d.Thinking) + len(d.Signature) + len(d.PartialJSON)); err != nil {
		return err
	}
	switch {
	case b.kind == blockText && d.Text != "":
		a.text.WriteString(d.Text)
		b.text.WriteString(d.Text)
		a.listen(model.Delta{Text: d.Text})
	case b.kind == blockThinking:
		a.addThinking(b, d)
	case b.kind == blockToolUse && d.PartialJSON != "":
		if b.whole {
			b.whole = false
			b.text.Reset()
		}
		b.text.WriteString(d.PartialJSON)
		a.listen(model.Delta{ToolCall: &model.ToolCallDelta{Index: b.call, Arguments: d.PartialJSON}})
	}
	return nil
}

// addThinking adds a piece of thinking. For people, blocks are separated by an empty line.
func (a *accumulator) addThinking(b *building, d *delta) {
	b.signature.WriteString(d.Signature)
	if d.Thinking == "" {
		return
	}
	shown := d.Thinking
	if b.text.Len() == 0 && a.reasoning.Len() > 0 {
		shown = "\n\n" + shown
	}
	b.text.WriteString(d.Thinking)
	a.reasoning.WriteString(shown)
	a.listen(model.Delta{Reasoning: shown})
}

func (a *accumulator) reply(req model.Request) model.Reply {
	reply := model.Reply{
		ID: a.id, Model: a.model, Text: a.text.String(), Reasoning: a.reasoning.String(),
		FinishReason: finishReason(a.stop), Usage: a.usage.usage(),
	}
	if a.stop == stopRefusal {
		// What was written so far must not be used; its calls would need results.
		reply.Text, reply.Refusal = "", cmp.Or(reply.Text, a.explanation, "The model refused to answer.")
		return reply
	}
	for _, b := range a.blocks {
		if b.kind == blockToolUse {
			reply.ToolCalls = append(reply.ToolCalls, model.ToolCall{ID: b.id, Name: b.name, Arguments: b.text.String()})
		}
	}
	reply.ToolCalls = wire.FinishCalls(reply.ToolCalls, reply.FinishReason, req.Messages)
	reply.ReasoningItems = a.items(req.Model, reply.ToolCalls)
	return reply
}

// The stop reasons that are not passed on as they are.
const (
	stopEndTurn         = "end_turn"
	stopSequence        = "stop_sequence"
	stopRefusal         = "refusal"
	stopToolUse         = "tool_use"
	stopMaxTokens       = "max_tokens"
	stopContextExceeded = "model_context_window_exceeded"
)

func finishReason(stop string) model.FinishReason {
	switch stop {
	case stopEndTurn, stopSequence, stopRefusal, "":
		return model.FinishStop
	case stopToolUse:
		return model.FinishToolCalls
	case stopMaxTokens, stopContextExceeded:
		return model.FinishLength
	}
	return model.FinishReason(stop)
}

// items returns the thinking blocks. Those between other blocks belong to the tool call that follows.
func (a *accumulator) items(name string, calls []model.ToolCall) []model.ReasoningItem {
	var items []model.ReasoningItem
	pending, first := 0, true // items that belong to the next call; only thinking so far
	for _, b := range a.blocks {
		switch b.kind {
		case blockThinking, blockRedacted:
			items = append(items, model.ReasoningItem{API: model.Anthropic, Model: name, Data: b.item()})
			if !first {
				pending++
			}
		case blockToolUse:
			for i := len(items) - pending; i < len(items); i++ {
				items[i].Call = calls[b.call].ID
			}
			pending, first = 0, false
		case blockText:
			first = first && b.text.Len() == 0
		}
	}
	return items
}

// item returns a thinking block for the next request. It is encoded as the ledger encodes it, so that the bytes stay
// the same.
func (b *building) item() json.RawMessage {
	var value any = struct {
		Type string `json:"type"`
		Data string `json:"data"`
	}{b.kind, b.data}
	if b.kind == blockThinking {
		value = struct {
			Type      string `json:"type"`
			Thinking  string `json:"thinking"`
			Signature string `json:"signature"`
		}{b.kind, b.text.String(), b.signature.String()}
	}
	data, _ := json.Marshal(value) // text can always be encoded
	return data
}
