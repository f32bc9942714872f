// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/internal/shorten"
)

type progress struct {
	task a2a.Task
	// message is the answer of an agent that answers without a task.
	message *a2a.Message
	// shown is the text that was passed on as deltas.
	shown string
	// answered is the id of the message with the answered question: for a short time, the task may still contain it.
	answered string
}

// done reports whether the task has ended or needs input.
func (p *progress) done() bool {
	state := p.task.Status.State
	asks := state == a2a.TaskStateInputRequired || state == a2a.TaskStateAuthRequired
	return p.message != nil || state.Terminal() || asks && (p.answered == "" || questionID(&p.task) != p.answered)
}

// apply applies an event. Events of other tasks are an error.
func (p *progress) apply(event a2a.Event) error {
	if message, ok := event.(*a2a.Message); ok {
		p.message = message
		return nil
	}
	id := event.TaskInfo().TaskID
	if id == "" || p.task.ID != "" && p.task.ID != id {
		return wire.Malformed("the remote agent sent an event of another task")
	}
	switch e := event.(type) {
	case *a2a.Task:
		p.task = *e
	case *a2a.TaskStatusUpdateEvent:
		p.task.ID, p.task.ContextID, p.task.Status = id, cmp.Or(p.task.ContextID, e.ContextID), e.Status
		if len(e.Metadata) > 0 {
			p.task.Metadata = e.Metadata
		}
	case *a2a.TaskArtifactUpdateEvent:
		p.task.ID, p.task.ContextID = id, cmp.Or(p.task.ContextID, e.ContextID)
		p.update(e)
	}
	return nil
}

// update adds or replaces an artifact, or appends to one.
func (p *progress) update(e *a2a.TaskArtifactUpdateEvent) {
	if e.Artifact == nil {
		return
	}
	p.task.Artifacts = slices.Clone(p.task.Artifacts)
	i := slices.IndexFunc(p.task.Artifacts, func(a *a2a.Artifact) bool { return a != nil && a.ID == e.Artifact.ID })
	switch {
	case i < 0:
		p.task.Artifacts = append(p.task.Artifacts, e.Artifact)
	case e.Append:
		grown := *p.task.Artifacts[i]
		grown.Parts = slices.Concat(grown.Parts, e.Artifact.Parts)
		p.task.Artifacts[i] = &grown
	default:
		p.task.Artifacts[i] = e.Artifact
	}
}

func (p *progress) text() (string, error) {
	var texts []string
	for _, artifact := range p.task.Artifacts {
		if artifact == nil {
			continue
		}
		if text := partsText(artifact.Parts); text != "" {
			texts = append(texts, text)
		}
	}
	text := strings.Join(texts, "\n\n")
	if len(text) > wire.MaxText {
		return "", wire.Oversized(fmt.Sprintf("the result of the remote agent is larger than %d MiB", wire.MaxText>>20))
	}
	return text, nil
}

// delta returns the text that was added since the last call. If earlier text has changed, the delta
// is empty: the reply contains the whole text.
func (p *progress) delta() (model.Delta, error) {
	text, err := p.text()
	if err != nil {
		return model.Delta{}, err
	}
	added, ok := strings.CutPrefix(text, p.shown)
	if !ok {
		return model.Delta{}, nil
	}
	p.shown = text
	return model.Delta{Text: added}, nil
}

// reply returns the reply for a task that has ended or needs input.
func (p *progress) reply(req model.Request) (model.Reply, error) {
	text, err := p.text()
	if err != nil {
		return model.Reply{}, err
	}
	reply := model.Reply{ID: string(p.task.ID), Model: req.Model, Text: text, FinishReason: model.FinishStop, Usage: decodeUsage(p.task.Metadata)}
	if p.message != nil {
		reply.Text, reply.ID = partsText(p.message.Parts), p.message.ID
		p.task.ContextID = p.message.ContextID
	}
	message := ""
	if m := p.task.Status.Message; m != nil {
		message = partsText(m.Parts)
	}
	last := exchange{Task: p.task.ID, Context: p.task.ContextID}
	switch state := p.task.Status.State; state {
	case a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired:
		last.Open, last.Question = true, questionID(&p.task)
		ask(&reply, state, message)
	case a2a.TaskStateFailed, a2a.TaskStateRejected, a2a.TaskStateCanceled:
		submit(&reply, "submit_error", "error", ends[state]+separator(message)+message)
	default:
		if reply.Text = cmp.Or(reply.Text, message); strings.TrimSpace(reply.Text) == "" {
			submit(&reply, "submit_result", "result", "The remote agent has completed the task without text.")
		}
	}
	if len(reply.Text) > wire.MaxText {
		return model.Reply{}, wire.Oversized("the answer of the remote agent is too large")
	}
	data, err := json.Marshal(last)
	if err != nil {
		return model.Reply{}, err
	}
	reply.ReasoningItems = []model.ReasoningItem{{API: model.A2A, Model: req.Model, Data: data}}
	reply.ToolCalls = wire.FinishCalls(reply.ToolCalls, reply.FinishReason, req.Messages)
	return reply, nil
}

// ends describe how a task ended without a result.
var ends = map[a2a.TaskState]string{
	a2a.TaskStateFailed:   "The remote agent has failed",
	a2a.TaskStateRejected: "The remote agent has rejected the task",
	a2a.TaskStateCanceled: "The remote agent has cancelled the task",
}

func separator(text string) string {
	if text == "" {
		return "."
	}
	return ": "
}

// maxQuestion bounds a question for a person, in characters.
const maxQuestion = 4000

func ask(reply *model.Reply, state a2a.TaskState, text string) {
	question := cmp.Or(text, "The remote agent needs input to continue.")
	if state == a2a.TaskStateAuthRequired {
		question = "The remote agent needs an authorization that Nestor cannot give. Give it where the agent expects it, then answer here. Its message: " +
			cmp.Or(text, "(nothing)")
	}
	submit(reply, "ask_user", "question", shorten.Head(question, maxQuestion))
}

func submit(reply *model.Reply, tool, argument, value string) {
	arguments, _ := json.Marshal(map[string]string{argument: value}) // texts can always be encoded
	reply.FinishReason = model.FinishToolCalls
	reply.ToolCalls = append(reply.ToolCalls, model.ToolCall{Name: tool, Arguments: string(arguments)})
}

// partsText returns parts as text. Files are named, not fetched.
func partsText(parts a2a.ContentParts) string {
	var b strings.Builder
	for _, part := range parts {
		if part == nil {
			continue
		}
		switch content := part.Content.(type) {
		case a2a.Text:
			b.WriteString(string(content))
		case a2a.Data:
			data, err := json.Marshal(content.Value)
			if err == nil {
				fmt.Fprintf(&b, "%s\n", data)
			}
		case a2a.URL:
			fmt.Fprintf(&b, "[file %s: %s]\n", shorten.UntrustedLine(part.Filename, 128), shorten.UntrustedLine(string(content), 1024))
		case a2a.Raw:
			fmt.Fprintf(&b, "[file %s: %s, %d bytes]\n", shorten.UntrustedLine(part.Filename, 128), shorten.UntrustedLine(part.MediaType, 64), len(content))
		}
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// decodeUsage returns the usage in the metadata of a task: an object "usage" with the tokens. A2A does not define
// it; some agents report it.
func decodeUsage(metadata map[string]any) *model.Usage {
	usage, ok := metadata["usage"].(map[string]any)
	if !ok {
		return nil
	}
	prompt, hasPrompt := tokens(usage, "promptTokens", "inputTokens", "prompt_tokens", "input_tokens")
	completion, hasCompletion := tokens(usage, "completionTokens", "outputTokens", "completion_tokens", "output_tokens")
	if !hasPrompt && !hasCompletion {
		return nil
	}
	return &model.Usage{PromptTokens: prompt, CompletionTokens: completion, TotalTokens: prompt + completion}
}

// tokens returns the first of the fields that is a number.
func tokens(usage map[string]any, names ...string) (int64, bool) {
	for _, name := range names {
		if n, ok := usage[name].(float64); ok && n >= 0 && !math.IsInf(n, 0) {
			return int64(min(n, 1e12)), true
		}
	}
	return 0, false
}
