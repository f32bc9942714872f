// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// wireReply has the used fields of a reply, or of a chunk. It is laxer than the SDK's types where providers differ.
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

// wireText is a string, or a list of parts whose text is used.
type wireText string

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
	var whole strings.Builder
	for _, p := range parts {
		whole.WriteString(p.Text)
	}
	*t = wireText(whole.String())
	return nil
}

// wireArguments is a string that contains JSON, or the JSON itself.
type wireArguments string

func (a *wireArguments) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(a))
	}
	if wire.IsSet(data) {
		*a = wireArguments(data)
	}
	return nil
}

// readReply reads a reply, streamed or not.
func readReply(body io.ReadCloser, req model.Request, listen func(model.Delta)) (model.Reply, error) {
	var a accumulator
	done := false
	err := wire.ReadBody(body, wire.Parts{
		Whole: func(data []byte) error { done = true; return a.add(data, listen) },
		Event: func(data []byte) (bool, error) {
			if done = bytes.HasPrefix(data, []byte("[DONE]")); done {
				return true, nil
			}
			return false, a.add(data, listen)
		},
	})
	switch {
	case err != nil:
		return model.Reply{}, err
	case !done && a.finish == "":
		return model.Reply{}, wire.Truncated()
	}
	reply, err := a.reply()
	reply.ToolCalls = wire.FinishCalls(reply.ToolCalls, reply.FinishReason, req.Messages)
	return reply, err
}

// accumulator assembles a reply from its chunks. A plain reply is a single chunk.
type accumulator struct {
	id, model, finish        string
	text, reasoning, refusal strings.Builder
	calls                    callBuilder
	usage                    *model.Usage
	answered                 bool // a choice has arrived
	size                     int  // of all texts and calls so far
}

func (a *accumulator) add(data []byte, listen func(model.Delta)) error {
	var chunk wireReply
	if err := json.Unmarshal(data, &chunk); err != nil {
		return wire.NotJSON(err)
	}
	if wire.IsSet(chunk.Error) {
		return wire.Reported(0, nil, data)
	}
	a.id, a.model = cmp.Or(a.id, chunk.ID), cmp.Or(a.model, chunk.Model)
	if u := chunk.Usage.usage(); u != nil {
		a.usage = u
	}
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		if choice.Index != 0 {
			continue
		}
		a.answered = true
		a.finish = cmp.Or(choice.FinishReason, a.finish)
		if err := errors.Join(a.addMessage(&choice.Message, listen), a.addMessage(&choice.Delta, listen)); err != nil {
			return err
		}
	}
	return nil
}

func (a *accumulator) addMessage(m *wireMessage, listen func(model.Delta)) error {
	a.size += m.size()
	if err := wire.CheckSize(a.size); err != nil {
		return err
	}
	d := model.Delta{Text: string(m.Content), Reasoning: cmp.Or(m.ReasoningContent, m.Reasoning), Refusal: m.Refusal}
	if d != (model.Delta{}) {
		a.text.WriteString(d.Text)
		a.reasoning.WriteString(d.Reasoning)
		a.refusal.WriteString(d.Refusal)
		listen(d)
	}
	for i := range m.ToolCalls {
		piece, err := a.calls.add(&m.ToolCalls[i])
		if err != nil {
			return err
		}
		listen(model.Delta{ToolCall: piece})
	}
	return nil
}

// reply returns the complete reply. A response without a choice is an error, not an empty reply: the model was not
// called, or its answer was lost.
func (a *accumulator) reply() (model.Reply, error) {
	if !a.answered {
		failure := wire.Malformed("the provider answered without a reply: the list of choices is empty")
		failure.Usage = a.usage
		return model.Reply{}, failure
	}
	return model.Reply{
		ID: a.id, Model: a.model,
		Text: a.text.String(), Reasoning: a.reasoning.String(), Refusal: a.refusal.String(),
		ToolCalls: a.calls.calls(), FinishReason: model.FinishReason(a.finish), Usage: a.usage,
	}, nil
}

// size returns the number of bytes that a message adds to the reply.
func (m *wireMessage) size() int {
	n := len(m.Content) + len(m.ReasoningContent) + len(m.Reasoning) + len(m.Refusal)
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		n += len(c.ID) + len(c.Function.Name) + len(c.Function.Arguments)
	}
	return n
}
