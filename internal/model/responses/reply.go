// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package responses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// wireResponse has the fields of a response that are used. It is laxer than the SDK's types.
type wireResponse struct {
	ID                string          `json:"id"`
	Model             string          `json:"model"`
	Status            string          `json:"status"`
	Error             json.RawMessage `json:"error"`
	IncompleteDetails struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output []json.RawMessage `json:"output"`
	Usage  *wireUsage        `json:"usage"`
}

type wireUsage struct {
	InputTokens        wire.Count `json:"input_tokens"`
	OutputTokens       wire.Count `json:"output_tokens"`
	TotalTokens        wire.Count `json:"total_tokens"`
	InputTokensDetails struct {
		CachedTokens     wire.Count `json:"cached_tokens"`
		CacheWriteTokens wire.Count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputTokensDetails struct {
		ReasoningTokens wire.Count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// usage returns nil unless the provider reported both counts.
func (u *wireUsage) usage() *model.Usage {
	if u == nil || !u.InputTokens.Known || !u.OutputTokens.Known {
		return nil
	}
	out := &model.Usage{PromptTokens: u.InputTokens.N, CompletionTokens: u.OutputTokens.N}
	out.CachedTokens = min(u.InputTokensDetails.CachedTokens.N, out.PromptTokens)
	out.CacheWriteTokens = min(u.InputTokensDetails.CacheWriteTokens.N, out.PromptTokens-out.CachedTokens)
	out.ReasoningTokens = min(u.OutputTokensDetails.ReasoningTokens.N, out.CompletionTokens)
	out.TotalTokens = max(u.TotalTokens.N, out.PromptTokens+out.CompletionTokens)
	return out
}

type wireItem struct {
	Type      string     `json:"type"`
	CallID    string     `json:"call_id"`
	Name      string     `json:"name"`
	Arguments string     `json:"arguments"`
	Content   []wirePart `json:"content"`
	Summary   []wirePart `json:"summary"`
}

type wirePart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

type wireEvent struct {
	Type         string          `json:"type"`
	OutputIndex  int             `json:"output_index"`
	SummaryIndex int             `json:"summary_index"`
	Delta        json.RawMessage `json:"delta"`
	Item         json.RawMessage `json:"item"`
	Response     *wireResponse   `json:"response"`
}

// readReply reads a reply, streamed or not.
func readReply(body io.ReadCloser, req model.Request, listen func(model.Delta)) (model.Reply, error) {
	a := accumulator{listen: listen, items: map[int]*item{}}
	err := wire.ReadBody(body, wire.Parts{Whole: a.whole, Event: a.event})
	switch {
	case err != nil:
		return model.Reply{}, err
	case a.final == nil:
		return model.Reply{}, wire.Truncated()
	}
	return a.reply(req)
}

// item is an item of the output while it is read.
type item struct {
	wireItem

	raw                      json.RawMessage
	text, refusal, reasoning strings.Builder
	arguments                strings.Builder
	// call is the position of a function call among the calls.
	call int
	// complete items were read from their final form, which replaces the deltas.
	complete bool
}

// accumulator assembles a reply from the events of a stream, or from a whole response.
type accumulator struct {
	listen func(model.Delta)
	items  map[int]*item
	final  *wireResponse
	calls  int
	size   int
}

// whole reads a response that is not streamed.
func (a *accumulator) whole(data []byte) error {
	var response wireResponse
	if err := json.Unmarshal(data, &response); err != nil {
		return wire.NotJSON(err)
	}
	return a.finish(&response)
}

// event reads an event. It reports whether it is the last one.
func (a *accumulator) event(data []byte) (bool, error) {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		return true, nil
	}
	var e wireEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false, wire.Malformed("the provider sent an event that is not JSON: " + err.Error())
	}
	switch e.Type {
	case "error":
		return false, wire.Reported(0, nil, data)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		if e.Response == nil {
			return false, wire.Malformed("the provider ended a stream without a response")
		}
		return true, a.finish(e.Response)
	case "response.output_item.added", "response.output_item.done":
		return false, a.addItem(e.OutputIndex, e.Item, e.Type == "response.output_item.done")
	}
	return false, a.addDelta(e)
}

// addDelta adds a part of an item. Other events are ignored.
func (a *accumulator) addDelta(e wireEvent) error {
	var text string
	if len(e.Delta) > 0 && e.Delta[0] == '"' {
		if err := json.Unmarshal(e.Delta, &text); err != nil {
			return wire.Malformed("the provider sent a delta that is not text: " + err.Error())
		}
	}
	if err := a.grow(len(text)); err != nil {
		return err
	}
	it := a.at(e.OutputIndex)
	switch e.Type {
	case "response.output_text.delta":
		it.text.WriteString(text)
		a.listen(model.Delta{Text: text})
	case "response.refusal.delta":
		it.refusal.WriteString(text)
		a.listen(model.Delta{Refusal: text})
	case "response.reasoning_summary_part.added":
		if e.SummaryIndex > 0 {
			it.reasoning.WriteString(paragraph)
			a.listen(model.Delta{Reasoning: paragraph})
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		it.reasoning.WriteString(text)
		a.listen(model.Delta{Reasoning: text})
	case "response.function_call_arguments.delta":
		it.arguments.WriteString(text)
		a.listen(model.Delta{ToolCall: &model.ToolCallDelta{Index: it.call, Arguments: text}})
	}
	return nil
}

// paragraph separates the parts of a summary.
const paragraph = "\n\n"

// at returns the item with an index, which it creates if necessary.
func (a *accumulator) at(index int) *item {
	it, ok := a.items[index]
	if !ok {
		it = &item{}
		a.items[index] = it
	}
	return it
}

// grow counts text and calls towards the bounds of a reply.
func (a *accumulator) grow(size int) error {
	a.size += size
	return wire.CheckSize(a.size)
}

func (a *accumulator) addItem(index int, raw json.RawMessage, complete bool) error {
	var read wireItem
	if err := json.Unmarshal(raw, &read); err != nil {
		return wire.Malformed("the provider sent an item that is not JSON: " + err.Error())
	}
	it := a.at(index)
	beginsCall := it.Type == "" && read.Type == "function_call"
	if beginsCall {
		it.call = a.calls
		a.calls++
	}
	if err := wire.CheckCall(it.call, read.CallID, read.Name); err != nil {
		return err
	}
	it.wireItem = read
	if beginsCall {
		a.listen(model.Delta{ToolCall: &model.ToolCallDelta{Index: it.call, Name: read.Name}})
	}
	if !complete {
		return nil
	}
	it.complete, it.raw = true, raw
	if read.Type == "reasoning" {
		return a.grow(len(raw)) // it is kept in the history
	}
	return a.complete(it)
}

// complete adds the rest of an item's final form to what its deltas contained, and reports that rest as a delta.
func (a *accumulator) complete(it *item) error {
	text, refusal := it.content()
	for _, part := range []struct {
		built *strings.Builder
		final string
		delta func(string) model.Delta
	}{
		{&it.text, text, func(s string) model.Delta { return model.Delta{Text: s} }},
		{&it.refusal, refusal, func(s string) model.Delta { return model.Delta{Refusal: s} }},
		{&it.arguments, it.Arguments, func(s string) model.Delta {
			return model.Delta{ToolCall: &model.ToolCallDelta{Index: it.call, Arguments: s}}
		}},
	} {
		rest, continues := strings.CutPrefix(part.final, part.built.String())
		if !continues || rest == "" {
			continue
		}
		if err := a.grow(len(rest)); err != nil {
			return err
		}
		part.built.WriteString(rest)
		a.listen(part.delta(rest))
	}
	return nil
}

func (i *wireItem) content() (text, refusal string) {
	for _, part := range i.Content {
		switch part.Type {
		case "output_text":
			text += part.Text
		case "refusal":
			refusal += part.Refusal
		}
	}
	return text, refusal
}

func (a *accumulator) finish(response *wireResponse) error {
	if wire.IsSet(response.Error) {
		failure := wire.Reported(0, nil, fmt.Appendf(nil, `{"error":%s}`, response.Error))
		failure.Usage = response.Usage.usage()
		return failure
	}
	if response.Status == "" && response.Output == nil {
		return wire.Malformed("the provider answered without a reply: it has neither a status nor an output")
	}
	if response.Status == "failed" || response.Status == "cancelled" {
		return &model.Error{Kind: model.Transient, Message: "the provider reports that the response " + response.Status, Usage: response.Usage.usage()}
	}
	a.final = response
	for index, raw := range response.Output {
		if it, ok := a.items[index]; ok && it.complete {
			continue
		}
		if err := a.addItem(index, raw, true); err != nil {
			return err
		}
		if it := a.items[index]; it.Type == "reasoning" && it.reasoning.Len() == 0 {
			a.addSummary(it)
		}
	}
	return nil
}

// addSummary adds the text of a reasoning item that was not streamed.
func (a *accumulator) addSummary(it *item) {
	var texts []string
	for _, part := range slices.Concat(it.Summary, it.Content) {
		texts = append(texts, part.Text)
	}
	if text := strings.Join(texts, paragraph); text != "" {
		it.reasoning.WriteString(text)
		a.listen(model.Delta{Reasoning: text})
	}
}

func (a *accumulator) reply(req model.Request) (model.Reply, error) {
	r := model.Reply{ID: a.final.ID, Model: a.final.Model, Usage: a.final.Usage.usage(), FinishReason: a.finishReason()}
	var pending []int         // indexes of the reasoning items that precede the next call or text
	before := map[int][]int{} // the same by the index of the call
	var reasoning strings.Builder
	for _, index := range slices.Sorted(maps.Keys(a.items)) {
		it := a.items[index]
		switch it.Type {
		case "reasoning":
			reasoning.WriteString(it.reasoning.String())
			r.ReasoningItems = append(r.ReasoningItems, model.ReasoningItem{API: model.OpenAIResponses, Model: req.Model, Data: it.raw})
			pending = append(pending, len(r.ReasoningItems)-1)
		case "function_call":
			before[len(r.ToolCalls)], pending = pending, nil
			r.ToolCalls = append(r.ToolCalls, model.ToolCall{ID: it.CallID, Name: it.Name, Arguments: cmp.Or(it.arguments.String(), it.Arguments)})
		default:
			pending = nil
			r.Text += it.text.String()
			r.Refusal += it.refusal.String()
		}
	}
	r.Reasoning = reasoning.String()
	r.ToolCalls = wire.FinishCalls(r.ToolCalls, r.FinishReason, req.Messages)
	for call, items := range before {
		for _, i := range items {
			r.ReasoningItems[i].Call = r.ToolCalls[call].ID
		}
	}
	r.ReasoningItems = slices.DeleteFunc(r.ReasoningItems, func(i model.ReasoningItem) bool { return len(i.Data) == 0 })
	return r, nil
}

func (a *accumulator) finishReason() model.FinishReason {
	switch reason := a.final.IncompleteDetails.Reason; reason {
	case "":
		if a.final.Status == "incomplete" { // some servers give no reason, and end the stream with response.completed
			return model.FinishLength
		}
	case "max_output_tokens":
		return model.FinishLength
	default:
		return model.FinishReason(reason) // content_filter is the same
	}
	if a.calls > 0 {
		return model.FinishToolCalls
	}
	return model.FinishStop
}
