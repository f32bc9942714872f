// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"net/http"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

// completionRequest is a request for a chat completion. Sampling parameters have no effect: those of the role apply.
type completionRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string  `json:"role"`
		Content content `json:"content"`
	} `json:"messages"`
	Stream        bool `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Format   format            `json:"response_format"`
	Metadata map[string]string `json:"metadata"`
}

const (
	whyTools   = "the tools of a run are those of its role. Give the AgentRole the tools that it needs."
	whySamples = "a run has one result."
)

// refusedInCompletions has the parameters that are not supported, each with the reason.
var refusedInCompletions = map[string]string{
	"n": whySamples, "logprobs": "a run has no token probabilities.", "top_logprobs": "a run has no token probabilities.",
	"logit_bias": "a run calls models several times, and the role decides how.", "tools": whyTools, "tool_choice": whyTools, "functions": whyTools,
	"function_call": whyTools, "audio": "runs return text.", "modalities": "runs return text.", "prediction": "a run is more than one reply.",
	"stop": "a run ends when its work is done.", "web_search_options": whyTools,
}

// complete serves POST /v1/chat/completions.
func (d door) complete(w http.ResponseWriter, r *http.Request, caller *run.Caller) error {
	var in completionRequest
	if err := decodeBody(r, &in, refusedInCompletions); err != nil {
		return err
	}
	q := request{model: in.Model, metadata: in.Metadata, schemaParam: "response_format"}
	q.key, q.repeated = header(r)
	var err error
	if q.schema, err = in.Format.schema(q.schemaParam); err != nil {
		return err
	}
	if q.target, err = parseModel(in.Model); err != nil {
		return err
	}
	for _, m := range in.Messages {
		if m.Role == "tool" || m.Role == "function" {
			return badf("messages", "Messages with the role %s are not supported: %s", m.Role, whyTools)
		}
		q.turns = append(q.turns, turn{Role: m.Role, Text: m.Content.text, Images: m.Content.images})
	}
	e, err := q.begin(r.Context(), caller)
	if err != nil {
		return err
	}
	c := completion{Object: "chat.completion", Created: d.now().Unix(), Model: in.Model, ID: "chatcmpl-" + e.name(), Metadata: e.metadata()}
	if in.Stream {
		streamCompletion(w, r, caller, e, c, in.StreamOptions.IncludeUsage)
		return nil
	}
	return wholeCompletion(w, r, caller, e, c)
}

// completion is a chat completion, or a chunk of one.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
	// Metadata names the task or chat, and what it waits for.
	Metadata map[string]string `json:"metadata,omitempty"`
}

type choice struct {
	Index        int      `json:"index"`
	Message      *message `json:"message,omitempty"`
	Delta        *message `json:"delta,omitempty"`
	FinishReason *string  `json:"finish_reason"`
	Logprobs     *string  `json:"logprobs"` // always null
}

type message struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
	Refusal *string `json:"refusal,omitempty"`
}

// usage is the usage of a run with everything below it.
type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

func usageOf(e run.Event) *usage {
	if e.Task == nil {
		return nil
	}
	u := e.Task.Status.Usage
	return &usage{u.PromptTokens, u.CompletionTokens, u.TotalTokens}
}

func (e exchange) name() string {
	if e.chat != "" {
		return e.message
	}
	return e.task
}

// metadataAsk is the metadata key of an approval's reference. A response has the approval that it shows, and a request
// the one that the client was shown.
const metadataAsk = "ask"

// metadata names the task or chat, for kubectl and for later requests.
func (e exchange) metadata() map[string]string {
	metadata := map[string]string{"task": e.namespace + "/" + e.task}
	if e.chat != "" {
		metadata = map[string]string{"chat": e.namespace + "/" + e.chat}
	}
	if e.notice != "" {
		metadata["notice"] = string(e.notice)
	}
	return metadata
}

// reply collects the text of a response.
type reply struct {
	text strings.Builder
	// continued means that an earlier response has sent a part of the text.
	continued bool
	// notice is the text before that of the run.
	notice string
}

// replace discards the text of the run, none of which was sent.
func (r *reply) replace() {
	r.text.Reset()
	r.text.WriteString(r.notice)
}

// add returns the text that an event adds to the response.
func (r *reply) add(e run.Event) string {
	piece := ""
	switch e.Kind {
	case run.Text:
		if e.Cursor == noticeCursor {
			r.notice = e.Text
		}
		if e.Begin && (r.text.Len() > 0 || r.continued) {
			piece = "\n\n"
		}
		piece += e.Text
	case run.Waiting:
		piece = e.Ask.Text()
		if r.text.Len() > 0 || r.continued {
			piece = "\n\n" + piece
		}
	}
	r.text.WriteString(piece)
	return piece
}

func wholeCompletion(w http.ResponseWriter, r *http.Request, caller *run.Caller, e exchange, c completion) error {
	var whole reply
	for event, err := range e.follow(r.Context(), caller) {
		if err == nil {
			err = failure(event)
		}
		if err != nil {
			return err
		}
		if event.Kind == run.Replace {
			whole.replace()
			continue
		}
		whole.add(event)
		addState(c.Metadata, event)
		c.Usage = usageOf(event)
	}
	c.Choices = []choice{{Message: &message{Role: "assistant", Content: new(whole.text.String())}, FinishReason: new("stop")}}
	gateway.WriteJSON(w, http.StatusOK, c)
	return nil
}

func addState(metadata map[string]string, e run.Event) {
	if e.Kind == run.Waiting && e.Ask.Kind != "" {
		metadata["waiting"] = string(e.Ask.Kind)
		if e.Ask.IsApproval() {
			metadata["tool"], metadata[metadataAsk] = e.Ask.Tool, e.Ask.Ref()
		}
	}
	if e.Task != nil && e.Task.Status.Phase == v1beta1.TaskWaiting {
		metadata["phase"] = string(e.Task.Status.Phase)
	}
}

func streamCompletion(w http.ResponseWriter, r *http.Request, caller *run.Caller, e exchange, c completion, withUsage bool) {
	out := gateway.NewEventStream(w)
	defer out.Close()
	c.Object = "chat.completion.chunk"
	send := func(delta message, finish *string) error {
		c.Choices = []choice{{Delta: &delta, FinishReason: finish}}
		return out.Send("", c)
	}
	if send(message{Role: "assistant", Content: new("")}, nil) != nil {
		return
	}
	c.Metadata = nil
	var whole reply
	state := map[string]string{}
	var used *usage
	for event, err := range e.follow(r.Context(), caller) {
		if err == nil {
			err = failure(event)
		}
		if err != nil {
			_, body := describe(err)
			_ = out.Send("", map[string]any{"error": body}) // the client may have disconnected
			return
		}
		addState(state, event)
		used = usageOf(event)
		if piece := whole.add(event); piece != "" && send(message{Content: &piece}, nil) != nil {
			return
		}
	}
	c.Metadata = state
	if send(message{}, new("stop")) != nil {
		return
	}
	if withUsage {
		c.Choices, c.Usage = []choice{}, used
		if out.Send("", c) != nil {
			return
		}
	}
	_ = out.SendText("[DONE]") // the client may have disconnected
}
