// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package bedrock

import (
	"cmp"
	"encoding/json"
	"io"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// event has those fields of all stream events that are used here.
type event struct {
	Index int `json:"contentBlockIndex"`
	Start struct {
		ToolUse *replyToolUse `json:"toolUse"`
	} `json:"start"`
	Delta struct {
		Text      string          `json:"text"`
		Reasoning *reasoningDelta `json:"reasoningContent"`
		ToolUse   *struct {
			Input string `json:"input"`
		} `json:"toolUse"`
	} `json:"delta"`
	StopReason string     `json:"stopReason"`
	Usage      *wireUsage `json:"usage"`
}

// reasoningDelta is a piece of reasoning; each has one of the fields.
type reasoningDelta struct {
	Text      string `json:"text"`
	Signature string `json:"signature"`
	Redacted  string `json:"redactedContent"`
}

type replyToolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// wholeReply is a reply that is not streamed.
type wholeReply struct {
	Output *struct {
		Message struct {
			Content []replyBlock `json:"content"`
		} `json:"message"`
	} `json:"output"`
	StopReason string          `json:"stopReason"`
	Usage      *wireUsage      `json:"usage"`
	Error      json.RawMessage `json:"error"` // of a gateway
}

type replyBlock struct {
	Text      string        `json:"text"`
	ToolUse   *replyToolUse `json:"toolUse"`
	Reasoning *struct {
		Text struct {
			Text      string `json:"text"`
			Signature string `json:"signature"`
		} `json:"reasoningText"`
		Redacted string `json:"redactedContent"`
	} `json:"reasoningContent"`
}

// wireUsage is the usage of a reply. The input tokens do not include those that were read from the cache or written to
// it.
type wireUsage struct {
	Input      wire.Count `json:"inputTokens"`
	CacheRead  wire.Count `json:"cacheReadInputTokens"`
	CacheWrite wire.Count `json:"cacheWriteInputTokens"`
	Output     wire.Count `json:"outputTokens"`
}

// usage returns nil unless the provider reported both counts.
func (u *wireUsage) usage() *model.Usage {
	if u == nil || !u.Input.Known || !u.Output.Known {
		return nil
	}
	out := &model.Usage{CachedTokens: u.CacheRead.N, CacheWriteTokens: u.CacheWrite.N, CompletionTokens: u.Output.N}
	out.PromptTokens = u.Input.N + out.CachedTokens + out.CacheWriteTokens
	out.TotalTokens = out.PromptTokens + out.CompletionTokens
	return out
}

// readReply reads the reply to a request, streamed or not.
func readReply(body io.ReadCloser, req model.Request, listen func(model.Delta)) (model.Reply, error) {
	a := accumulator{listen: listen, byIndex: map[int]*building{}}
	err := wire.ReadBody(body, wire.Parts{Whole: a.addWhole, Stream: a.readStream})
	switch {
	case err != nil:
		return model.Reply{}, err
	case !a.started:
		return model.Reply{}, wire.Malformed("the provider answered without a message of the Converse API")
	case a.stop == "":
		return model.Reply{}, wire.Truncated()
	}
	return a.reply(req)
}

type accumulator struct {
	listen          func(model.Delta)
	started         bool
	stop            string
	usage           *wireUsage
	text, reasoning strings.Builder
	blocks          []*building
	byIndex         map[int]*building
	calls, size     int
}

type kind int

const (
	textBlockKind kind = iota + 1
	reasoningKind
	toolUseKind
)

// building is a block of the reply. Its kind is 0 until its first piece.
type building struct {
	kind            kind
	id, name        string
	call            int // counts the tool calls
	text, signature strings.Builder
	redacted        strings.Builder
}

// addWhole adds a reply that is not streamed.
func (a *accumulator) addWhole(data []byte) error {
	var whole wholeReply
	if err := json.Unmarshal(data, &whole); err != nil {
		return wire.NotJSON(err)
	}
	if wire.IsSet(whole.Error) {
		return wire.Reported(0, nil, data)
	}
	if whole.Output == nil {
		return nil
	}
	a.started, a.usage = true, whole.Usage
	a.stop = cmp.Or(whole.StopReason, stopEndTurn)
	for i := range whole.Output.Message.Content {
		b := &whole.Output.Message.Content[i]
		var err error
		switch {
		case b.ToolUse != nil:
			err = a.beginCall(i, b.ToolUse)
		case b.Reasoning != nil:
			err = a.addReasoning(i, &reasoningDelta{b.Reasoning.Text.Text, b.Reasoning.Text.Signature, b.Reasoning.Redacted})
		default:
			err = a.addText(i, b.Text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *accumulator) addEvent(name string, data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return wire.NotJSON(err)
	}
	switch name {
	case "messageStart":
		a.started = true
	case "contentBlockStart":
		if e.Start.ToolUse != nil {
			return a.beginCall(e.Index, e.Start.ToolUse)
		}
	case "contentBlockDelta":
		switch {
		case e.Delta.ToolUse != nil:
			return a.addInput(e.Index, e.Delta.ToolUse.Input)
		case e.Delta.Reasoning != nil:
			return a.addReasoning(e.Index, e.Delta.Reasoning)
		}
		return a.addText(e.Index, e.Delta.Text)
	case "messageStop":
		a.stop = cmp.Or(e.StopReason, stopEndTurn)
	case "metadata":
		a.usage = e.Usage
	}
	return nil
}

// blockSize is the size that a block counts in addition to its texts.
const blockSize = 64

// grow counts what the reply contains so far.
func (a *accumulator) grow(n int) error {
	a.size += n
	return wire.CheckSize(a.size)
}

// block returns the block at an index, which begins with its first piece.
func (a *accumulator) block(index int, k kind) (*building, error) {
	if b := a.byIndex[index]; b != nil && b.kind == k {
		return b, nil
	}
	b := &building{kind: k}
	a.blocks = append(a.blocks, b)
	a.byIndex[index] = b
	a.started = true
	return b, a.grow(blockSize)
}

func (a *accumulator) addText(index int, text string) error {
	if text == "" {
		return nil
	}
	b, err := a.block(index, textBlockKind)
	if err != nil {
		return err
	}
	b.text.WriteString(text)
	a.text.WriteString(text)
	a.listen(model.Delta{Text: text})
	return a.grow(len(text))
}

// addReasoning adds a piece of reasoning. For people, blocks are separated by an empty line.
func (a *accumulator) addReasoning(index int, d *reasoningDelta) error {
	b, err := a.block(index, reasoningKind)
	if err != nil {
		return err
	}
	b.signature.WriteString(d.Signature)
	b.redacted.WriteString(d.Redacted)
	if d.Text != "" {
		shown := d.Text
		if b.text.Len() == 0 && a.reasoning.Len() > 0 {
			shown = "\n\n" + shown
		}
		b.text.WriteString(d.Text)
		a.reasoning.WriteString(shown)
		a.listen(model.Delta{Reasoning: shown})
	}
	return a.grow(len(d.Text) + len(d.Signature) + len(d.Redacted))
}

// beginCall begins a tool call. In a stream its arguments follow.
func (a *accumulator) beginCall(index int, call *replyToolUse) error {
	if err := wire.CheckCall(a.calls, call.ID, call.Name); err != nil {
		return err
	}
	delete(a.byIndex, index)
	b, err := a.block(index, toolUseKind)
	if err != nil {
		return err
	}
	b.id, b.name, b.call = call.ID, call.Name, a.calls
	a.calls++
	a.listen(model.Delta{ToolCall: &model.ToolCallDelta{Index: b.call, Name: b.name}})
	if err := a.grow(len(call.ID) + len(call.Name)); err != nil {
		return err
	}
	return a.addInput(index, wholeInput(call.Input))
}

// wholeInput returns arguments that came at once: an object, or text if they are not one.
func wholeInput(input json.RawMessage) string {
	var text string
	if json.Unmarshal(input, &text) == nil {
		return text
	}
	return string(input)
}

// addInput adds a piece of a call's arguments. A call that was not begun is ignored.
func (a *accumulator) addInput(index int, input string) error {
	b := a.byIndex[index]
	if b == nil || b.kind != toolUseKind || input == "" {
		return nil
	}
	b.text.WriteString(input)
	a.listen(model.Delta{ToolCall: &model.ToolCallDelta{Index: b.call, Arguments: input}})
	return a.grow(len(input))
}

// The reasons why a reply ends.
const (
	stopEndTurn         = "end_turn"
	stopSequence        = "stop_sequence"
	stopToolUse         = "tool_use"
	stopMaxTokens       = "max_tokens"
	stopContextExceeded = "model_context_window_exceeded"
	stopFiltered        = "content_filtered"
	stopGuardrail       = "guardrail_intervened"
	stopMalformedOutput = "malformed_model_output"
	stopMalformedCall   = "malformed_tool_use"
)

func finishReason(stop string) model.FinishReason {
	switch stop {
	case stopEndTurn, stopSequence:
		return model.FinishStop
	case stopToolUse:
		return model.FinishToolCalls
	case stopMaxTokens, stopContextExceeded:
		return model.FinishLength
	case stopFiltered, stopGuardrail:
		return model.FinishContentFilter
	}
	return model.FinishReason(stop)
}

// reply returns the complete reply. Calls that the API could not parse are an error, because it does not return them.
func (a *accumulator) reply(req model.Request) (model.Reply, error) {
	if a.stop == stopMalformedCall || a.stop == stopMalformedOutput {
		failure := wire.Malformed("the model's output has a form that the provider does not understand")
		failure.Usage = a.usage.usage()
		return model.Reply{}, failure
	}
	reply := model.Reply{Text: a.text.String(), Reasoning: a.reasoning.String(), FinishReason: finishReason(a.stop), Usage: a.usage.usage()}
	for _, b := range a.blocks {
		if b.kind == toolUseKind {
			reply.ToolCalls = append(reply.ToolCalls, model.ToolCall{ID: b.id, Name: b.name, Arguments: b.text.String()})
		}
	}
	reply.ToolCalls = wire.FinishCalls(reply.ToolCalls, reply.FinishReason, req.Messages)
	var err error
	reply.ReasoningItems, err = a.items(req.Model, reply.ToolCalls)
	return reply, err
}

// items returns the signed and redacted reasoning. That between other blocks belongs to the tool call that follows.
func (a *accumulator) items(name string, calls []model.ToolCall) ([]model.ReasoningItem, error) {
	var items []model.ReasoningItem
	pending, first := 0, true // items that belong to the next call; only reasoning so far
	for _, b := range a.blocks {
		switch b.kind {
		case reasoningKind:
			data, err := b.item()
			if err != nil {
				return nil, err
			}
			if data == nil {
				continue
			}
			items = append(items, model.ReasoningItem{API: model.Bedrock, Model: name, Data: data})
			if !first {
				pending++
			}
		case toolUseKind:
			for i := len(items) - pending; i < len(items); i++ {
				items[i].Call = calls[b.call].ID
			}
			pending, first = 0, false
		default:
			first = false
		}
	}
	return items, nil
}

// item returns reasoning for the next request, or nil if it is not sent back. It is encoded as the ledger encodes it,
// so that the bytes stay the same.
func (b *building) item() (json.RawMessage, error) {
	switch {
	case b.redacted.Len() > 0:
		return json.Marshal(map[string]string{"redactedContent": b.redacted.String()})
	case b.signature.Len() > 0:
		type signed struct {
			Text      string `json:"text"`
			Signature string `json:"signature"`
		}
		return json.Marshal(map[string]signed{"reasoningText": {b.text.String(), b.signature.String()}})
	}
	return nil, nil
}
