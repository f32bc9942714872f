// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"net/http"
)

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

// stream answers with server-sent events.
func (p *response) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	flusher := http.NewResponseController(w)
	// Flush each chunk only if the script sets a delay or a fault: a single write for the whole reply makes thousands
	// of calls per second possible.
	paced := !p.noDelay && p.script.ChunkDelay > 0 || p.script.Fault != nil
	events := p.events()
	for i, event := range events {
		if p.faultAt(w, r, flusher, i) {
			return
		}
		if i > 0 && !p.wait(r, p.script.ChunkDelay) {
			return
		}
		if !send(w, event) {
			return
		}
		if paced {
			_ = flusher.Flush()
		}
	}
	if p.faultAt(w, r, flusher, max(len(events), p.faultAfter())) {
		return
	}
	_, _ = w.Write([]byte("data: [DONE]\n\n"))
}

func send(w http.ResponseWriter, event any) bool {
	data, err := json.Marshal(event)
	if err != nil {
		return false
	}
	line := make([]byte, 0, len(data)+8)
	line = append(line, "data: "...)
	line = append(line, data...)
	_, err = w.Write(append(line, "\n\n"...))
	return err == nil
}

func (p *response) faultAfter() int {
	if p.script.Fault == nil {
		return 0
	}
	return p.script.Fault.After
}

// faultAt breaks the stream if its fault is due after this many chunks, and reports whether it did.
func (p *response) faultAt(w http.ResponseWriter, r *http.Request, flusher *http.ResponseController, sent int) bool {
	f := p.script.Fault
	if f == nil || f.After != sent {
		return false
	}
	_ = flusher.Flush()
	switch f.Kind {
	case faultHang:
		<-r.Context().Done()
	case faultMalformed:
		_, _ = w.Write([]byte("data: {\"id\": \"chatcmpl-" + p.id + "\", \"choices\": [{\"delta\":\n\n"))
	default:
		panic(http.ErrAbortHandler)
	}
	return true
}

// events returns the chunks of the reply in order.
func (p *response) events() []chunk {
	withUsage := p.conv.StreamOptions != nil && p.conv.StreamOptions.IncludeUsage && p.usage != nil
	var events []chunk
	add := func(d delta, finish *string) {
		c := chunk{ID: "chatcmpl-" + p.id, Object: "chat.completion.chunk", Created: created, Model: p.conv.Model}
		c.Choices = []chunkChoice{{Delta: d, FinishReason: finish}}
		if withUsage {
			c.Usage = json.RawMessage("null")
		}
		events = append(events, c)
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
		first := deltaCall{Index: i, ID: call.ID, Type: call.Type}
		first.Function.Name = call.Function.Name
		add(delta{ToolCalls: []deltaCall{first}}, nil)
		for _, piece := range split(call.Function.Arguments, p.script.ChunkSize) {
			next := deltaCall{Index: i}
			next.Function.Arguments = piece
			add(delta{ToolCalls: []deltaCall{next}}, nil)
		}
	}
	add(delta{}, new(p.finishReason()))
	if withUsage {
		usage, err := json.Marshal(p.usage)
		if err == nil {
			last := events[len(events)-1]
			last.Choices, last.Usage = []chunkChoice{}, usage
			events = append(events, last)
		}
	}
	return events
}
