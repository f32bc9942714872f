// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"
)

// wireReply is a reply, or a chunk of one, as far as it is read. It is laxer than the SDK's types where providers differ.
type wireReply struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Choices []wireChoice    `json:"choices"`
	Usage   *wireUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type wireChoice struct {
	Index        int         `json:"index"`
	Delta        wireMessage `json:"delta"`
	Message      wireMessage `json:"message"`
	FinishReason string      `json:"finish_reason"`
}

type wireMessage struct {
	Content          wireText   `json:"content"`
	ReasoningContent string     `json:"reasoning_content"`
	Reasoning        string     `json:"reasoning"`
	Refusal          string     `json:"refusal"`
	ToolCalls        []wireCall `json:"tool_calls"`
}

type wireCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string        `json:"name"`
		Arguments wireArguments `json:"arguments"`
	} `json:"function"`
}

// wireText is a string, or a list of parts of which the text counts.
type wireText string

// UnmarshalJSON accepts both forms.
func (t *wireText) UnmarshalJSON(data []byte) error {
	if data[0] != '[' {
		return json.Unmarshal(data, (*string)(t))
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		*t += wireText(p.Text)
	}
	return nil
}

// wireArguments is a string with JSON in it, or the JSON itself.
type wireArguments string

// UnmarshalJSON accepts both forms.
func (a *wireArguments) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(a))
	}
	if !bytes.Equal(data, []byte("null")) {
		*a = wireArguments(data)
	}
	return nil
}

type wireUsage struct {
	PromptTokens        *int64 `json:"prompt_tokens"`
	CompletionTokens    *int64 `json:"completion_tokens"`
	TotalTokens         int64  `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	// PromptCacheHitTokens is another spelling of the cached tokens.
	PromptCacheHitTokens int64 `json:"prompt_cache_hit_tokens"`
}

// usage is nil unless the provider gave both counts and they make sense.
func (u *wireUsage) usage() *Usage {
	if u == nil || u.PromptTokens == nil || u.CompletionTokens == nil || *u.PromptTokens < 0 || *u.CompletionTokens < 0 {
		return nil
	}
	out := &Usage{PromptTokens: *u.PromptTokens, CompletionTokens: *u.CompletionTokens}
	cached := max(u.PromptTokensDetails.CachedTokens, u.PromptCacheHitTokens, 0)
	out.CachedTokens = min(cached, out.PromptTokens)
	out.ReasoningTokens = min(max(u.CompletionTokensDetails.ReasoningTokens, 0), out.CompletionTokens)
	out.TotalTokens = max(u.TotalTokens, out.PromptTokens+out.CompletionTokens)
	return out
}

// readWhole reads a reply that is one JSON object.
func readWhole(r io.Reader, listen func(Delta)) (Reply, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return Reply{}, err
	}
	var a accumulator
	if err := a.add(data, listen); err != nil {
		return Reply{}, err
	}
	return a.reply(), nil
}

// readStream reads a reply that is a stream of events.
func readStream(r *bufio.Reader, body io.Closer, listen func(Delta)) (Reply, error) {
	beginning, err := r.Peek(200)
	if err != nil && !errors.Is(err, io.EOF) && len(beginning) == 0 {
		return Reply{}, err
	}
	beginning = bytes.Clone(beginning)
	// Some providers leave out the empty line after the last event, without which the decoder would drop it.
	terminated := io.MultiReader(r, strings.NewReader("\n\n"))
	decoder := ssestream.NewDecoder(&http.Response{Body: struct {
		io.Reader
		io.Closer
	}{terminated, body}})
	var a accumulator
	events, done := 0, false
	for decoder.Next() {
		events++
		data := bytes.TrimSpace(decoder.Event().Data)
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			done = true
			break
		}
		if err := a.add(data, listen); err != nil {
			return Reply{}, err
		}
	}
	if err := decoder.Err(); err != nil {
		return Reply{}, err
	}
	switch {
	case events == 0:
		return Reply{}, malformed("the provider sent neither JSON nor an event stream: " + string(beginning))
	case !done && a.finish == "":
		return Reply{}, &Error{Kind: Transient, Message: "the provider's stream ended before the reply was complete"}
	}
	return a.reply(), nil
}

// accumulator puts a reply together from its chunks. A whole reply is a single chunk.
type accumulator struct {
	id, model, finish        string
	text, reasoning, refusal strings.Builder
	calls                    callBuilder
	usage                    *Usage
}

func (a *accumulator) add(data []byte, listen func(Delta)) error {
	var chunk wireReply
	if err := json.Unmarshal(data, &chunk); err != nil {
		return malformed("the provider sent a reply that is not JSON: " + err.Error() + ": " + string(data[:min(len(data), 200)]))
	}
	if len(chunk.Error) > 0 && !bytes.Equal(chunk.Error, []byte("null")) {
		return sortStatus(0, nil, data)
	}
	a.id, a.model = first(a.id, chunk.ID), first(a.model, chunk.Model)
	if u := chunk.Usage.usage(); u != nil {
		a.usage = u
	}
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		if choice.Index != 0 {
			continue
		}
		a.finish = first(choice.FinishReason, a.finish)
		a.addMessage(&choice.Message, listen)
		a.addMessage(&choice.Delta, listen)
	}
	return nil
}

func (a *accumulator) addMessage(m *wireMessage, listen func(Delta)) {
	d := Delta{Text: string(m.Content), Reasoning: first(m.ReasoningContent, m.Reasoning), Refusal: m.Refusal}
	if d != (Delta{}) {
		a.text.WriteString(d.Text)
		a.reasoning.WriteString(d.Reasoning)
		a.refusal.WriteString(d.Refusal)
		listen(d)
	}
	for i := range m.ToolCalls {
		listen(Delta{ToolCall: a.calls.add(&m.ToolCalls[i])})
	}
}

func (a *accumulator) reply() Reply {
	return Reply{
		ID: a.id, Model: a.model,
		Text: a.text.String(), Reasoning: a.reasoning.String(), Refusal: a.refusal.String(),
		ToolCalls: a.calls.calls(), FinishReason: FinishReason(a.finish), Usage: a.usage,
	}
}

// first returns the first of two texts that is not empty.
func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
