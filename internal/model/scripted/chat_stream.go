// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import "encoding/json"

// chunk is one event of a stream. If usage was requested, it is null in all but the last event; otherwise it is
// absent.
type chunk struct {
	ID      string          `json:"id"`
	Object  string          `json:"object"`
	Created int64           `json:"created"`
	Model   string          `json:"model"`
	Choices []chunkChoice   `json:"choices"`
	Usage   json.RawMessage `json:"usage,omitempty"`
}

type chunkChoice struct {
	Index        int     `json:"index"`
	Delta        delta   `json:"delta"`
	FinishReason *string `json:"finish_reason"`
}

type delta struct {
	Role             string      `json:"role,omitempty"`
	Content          *string     `json:"content,omitempty"`
	ReasoningContent string      `json:"reasoning_content,omitempty"`
	Refusal          string      `json:"refusal,omitempty"`
	ToolCalls        []deltaCall `json:"tool_calls,omitempty"`
}

type deltaCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (*chatRequest) contentType() string { return eventStream }

func (*chatRequest) failedFrame(e *apiError) []byte {
	return frame("", map[string]any{"error": newOpenAIError(e)})
}

func (r *chatRequest) stream(p *response) [][]byte {
	withUsage := r.StreamOptions != nil && r.StreamOptions.IncludeUsage && p.usage != nil
	next := chunk{ID: "chatcmpl-" + p.id, Object: "chat.completion.chunk", Created: created, Model: r.Model}
	if withUsage {
		next.Usage = json.RawMessage("null")
	}
	var frames [][]byte
	add := func(d delta, finish *string) {
		next.Choices = []chunkChoice{{Delta: d, FinishReason: finish}}
		frames = append(frames, frame("", next))
	}
	add(delta{Role: "assistant", Content: new("")}, nil)
	for _, piece := range split(p.reasoning, p.script.ChunkSize) {
		add(delta{ReasoningContent: piece}, nil)
	}
	for _, piece := range split(p.text, p.script.ChunkSize) {
		add(delta{Content: &piece}, nil)
	}
	for _, piece := range split(p.refusal, p.script.ChunkSize) {
		add(delta{Refusal: piece}, nil)
	}
	for i, call := range p.calls {
		first := deltaCall{Index: i, ID: call.id, Type: "function"}
		first.Function.Name = call.name
		add(delta{ToolCalls: []deltaCall{first}}, nil)
		for _, piece := range split(call.arguments, p.script.ChunkSize) {
			part := deltaCall{Index: i}
			part.Function.Arguments = piece
			add(delta{ToolCalls: []deltaCall{part}}, nil)
		}
	}
	add(delta{}, new(p.finishReason()))
	if withUsage {
		next.Choices, next.Usage = []chunkChoice{}, encode(newChatUsage(p.usage))
		frames = append(frames, frame("", next))
	}
	return append(frames, []byte("data: [DONE]\n\n"))
}
