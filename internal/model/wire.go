// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"
)

// wireReply has the fields of a reply, or of a chunk of one, that are used. It is laxer than the SDK's types where
// providers differ.
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
	var whole strings.Builder
	for _, p := range parts {
		whole.WriteString(p.Text)
	}
	*t = wireText(whole.String())
	return nil
}

// wireArguments is a string that contains JSON, or the JSON itself.
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

// readJSON reads a reply that is a single JSON object.
func readJSON(r io.Reader, listen func(Delta)) (Reply, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxJSONBytes+1))
	if err != nil {
		return Reply{}, err
	}
	if len(data) > maxJSONBytes {
		return Reply{}, oversized(fmt.Sprintf("the provider's reply is larger than %d MiB", maxJSONBytes>>20))
	}
	var a accumulator
	if err := a.add(data, listen); err != nil {
		return Reply{}, err
	}
	return a.reply()
}

// readStream reads a reply that is an event stream.
func readStream(r *bufio.Reader, body io.Closer, listen func(Delta)) (Reply, error) {
	// Some providers omit the empty line after the last event, without which the decoder would drop it.
	terminated := io.MultiReader(&eventReader{Reader: r}, strings.NewReader("\n\n"))
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
		return Reply{}, malformed("the provider sent neither JSON nor an event stream")
	case !done && a.finish == "":
		return Reply{}, &Error{Kind: Transient, Message: "the provider's stream ended before the reply was complete"}
	}
	return a.reply()
}

// accumulator assembles a reply from its chunks. A plain reply is a single chunk.
type accumulator struct {
	id, model, finish        string
	text, reasoning, refusal strings.Builder
	calls                    callBuilder
	usage                    *Usage
	answered                 bool // a choice has arrived
	size                     int  // of all texts and calls so far
}

func (a *accumulator) add(data []byte, listen func(Delta)) error {
	var chunk wireReply
	if err := json.Unmarshal(data, &chunk); err != nil {
		return malformed("the provider sent a reply that is not JSON: " + err.Error())
	}
	if len(chunk.Error) > 0 && !bytes.Equal(chunk.Error, []byte("null")) {
		return classifyStatus(0, nil, data)
	}
	a.id, a.model = firstNonEmpty(a.id, chunk.ID), firstNonEmpty(a.model, chunk.Model)
	if u := chunk.Usage.usage(); u != nil {
		a.usage = u
	}
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		if choice.Index != 0 {
			continue
		}
		a.answered = true
		a.finish = firstNonEmpty(choice.FinishReason, a.finish)
		if err := errors.Join(a.addMessage(&choice.Message, listen), a.addMessage(&choice.Delta, listen)); err != nil {
			return err
		}
	}
	return nil
}

func (a *accumulator) addMessage(m *wireMessage, listen func(Delta)) error {
	if a.size += m.size(); a.size > maxText {
		return oversized(fmt.Sprintf("the provider's reply has more than %d MiB of text and tool calls", maxText>>20))
	}
	d := Delta{Text: string(m.Content), Reasoning: firstNonEmpty(m.ReasoningContent, m.Reasoning), Refusal: m.Refusal}
	if d != (Delta{}) {
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
		listen(Delta{ToolCall: piece})
	}
	return nil
}

// reply returns the complete reply. A response without a choice is an error, not an empty reply: the model was not
// called, or its answer was lost.
func (a *accumulator) reply() (Reply, error) {
	if !a.answered {
		failure := malformed("the provider answered without a reply: the list of choices is empty")
		failure.Usage = a.usage
		return Reply{}, failure
	}
	return Reply{
		ID: a.id, Model: a.model,
		Text: a.text.String(), Reasoning: a.reasoning.String(), Refusal: a.refusal.String(),
		ToolCalls: a.calls.calls(), FinishReason: FinishReason(a.finish), Usage: a.usage,
	}, nil
}

// firstNonEmpty returns the first of two texts that is not empty.
func firstNonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
