// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/tokens"
)

// This file implements the context that a delegated agent receives besides its task: a summary of the parent's conversation, the
// conversation itself, or files. See docs/adr/0013-context-is-decided-by-the-parent.md.

// SharedSummary is a summary of an agent's conversation for the agents that it delegates to.
type SharedSummary struct {
	Text string `json:"text"`
	// Covers is how many messages of the history it summarises.
	Covers int `json:"covers"`
}

// PlannedCalls are the calls of a reply that wait for a summary of the conversation.
type PlannedCalls struct {
	// ModelCall is the model call whose reply contains them, Attempt the attempt that got the reply.
	ModelCall string     `json:"modelCall"`
	Attempt   int        `json:"attempt,omitempty"`
	Calls     []ToolCall `json:"calls"`
}

// makeCalls makes the calls of a reply. If one of them delegates with a summary of the conversation, the summary is made first,
// once for all of them.
func makeCalls(s State, call ModelCall, calls []ToolCall, tasksLeft *int64) State {
	if !s.needsSharedSummary(calls) {
		return beginBatch(s, call, calls, tasksLeft)
	}
	s.Planned = &PlannedCalls{ModelCall: call.ID, Attempt: call.Attempt, Calls: calls}
	return startModelCall(s, PurposeContext, 0)
}

// needsSharedSummary reports whether one of the calls delegates with a summary. In a reply that submits a result, no other calls
// are made.
func (s State) needsSharedSummary(calls []ToolCall) bool {
	submits := func(c ToolCall) bool {
		_, ok := s.Config.submission(c)
		return ok
	}
	return slices.ContainsFunc(calls, s.delegatesWithSummary) && !slices.ContainsFunc(calls, submits)
}

func (s State) delegatesWithSummary(c ToolCall) bool {
	var in struct {
		delegation
		Tasks []delegation `json:"tasks"`
	}
	if (c.Tool != ToolDelegate && c.Tool != ToolSpawn) || !s.Config.mayDelegate() || jsonInto(c.Arguments, &in) != nil {
		return false
	}
	return slices.ContainsFunc(append(in.Tasks, in.delegation), func(d delegation) bool {
		return contextModes[strings.ToLower(d.Context)] == ContextSummary
	})
}

// makePlannedCalls makes the calls that waited for the summary.
func makePlannedCalls(s State, f ModelReplied) State {
	text := f.Text
	if text == "" {
		text = "(No summary could be made.)"
	}
	planned := *s.Planned
	s.Planned, s.SharedSummary = nil, &SharedSummary{Text: text, Covers: s.History.Len() - 1}
	return beginBatch(s, ModelCall{ID: planned.ModelCall, Attempt: planned.Attempt}, planned.Calls, f.TasksLeft)
}

// cancelPlanned moves the calls that wait for a summary into the batch, to be answered without it.
func (s State) cancelPlanned() State {
	if s.Planned == nil {
		return s
	}
	for _, c := range s.Planned.Calls {
		s.Batch = append(slices.Clip(s.Batch), BatchCall{ToolCall: c, ModelCall: s.Planned.ModelCall, At: s.Clock.Now})
	}
	s.Planned = nil
	return s
}

// unsummarised returns the input of the next summary: the last summary, and the messages since then without the reply that waits
// for it.
func (s State) unsummarised() (before string, messages []Message) {
	before, messages = s.Summary, s.History.Messages()
	if s.SharedSummary != nil {
		before, messages = s.SharedSummary.Text, messages[min(s.SharedSummary.Covers, len(messages)):]
	}
	return before, messages[:max(0, len(messages)-1)]
}

// sharedSummaryPrompt returns the prompt for a summary of the conversation for another agent.
func sharedSummaryPrompt(s State) Prompt {
	before, messages := s.unsummarised()
	return Prompt{
		System: "You condense the conversation of an agent for another agent, which is about to do a part of the work and has none of this conversation. " +
			"Keep goals, decisions, facts, names, paths, numbers, results of tools and what the user asked for or ruled out. " +
			"Leave out pleasantries and what turned out not to matter. Invent nothing. Answer with the summary alone.",
		Messages: []Message{{Speaker: User, Text: textToSummarise(before, messages, s.compactionTokens())}},
	}
}

// textToSummarise formats messages as text, the newest that fit. As text, a call whose answers do not fit breaks no rule of the
// provider.
func textToSummarise(before string, messages []Message, available int64) string {
	var parts []string
	for _, m := range slices.Backward(messages) {
		text := m.transcript()
		if available -= tokens.Of(text); available < 0 {
			parts = append(parts, "(earlier messages left out)")
			break
		}
		parts = append(parts, text)
	}
	slices.Reverse(parts)
	if before != "" {
		parts = append([]string{"Summary of what came before: " + before}, parts...)
	}
	return strings.Join(parts, "\n\n")
}

// ContextFor returns the context of a child: this agent's conversation at the time of the delegation, in about available tokens.
func (s State) ContextFor(child string, available int64) string {
	i := s.Children.find(child)
	if i < 0 {
		return ""
	}
	g := s.Children.group(s.Children.Live[i].Group)
	if g < 0 {
		return ""
	}
	group := s.Children.Groups[g]
	switch s.Children.Live[i].Context {
	case ContextSummary:
		return cutTo(group.Summary, available*contextBytesPerToken)
	case ContextFull:
		messages := slices.DeleteFunc(s.History.Messages(), func(m Message) bool { return m.At > group.At })
		return textToSummarise(cutTo(s.Summary, available*contextBytesPerToken/2), messages, available)
	}
	return ""
}

// contextBytesPerToken converts tokens to bytes of text, with a margin for texts with shorter tokens.
const contextBytesPerToken = 3

// cutTo keeps the beginning of text and marks the cut.
func cutTo(text string, bytes int64) string {
	if int64(len(text)) <= bytes {
		return text
	}
	return shorten.HeadBytes(text, int(bytes)) + fmt.Sprintf("\n(%d bytes left out)", int64(len(text))-bytes)
}

// SharedContextTokens returns how many tokens of the model's context may be used for shared context: half of what is
// left after the longest reply.
func (l Limits) SharedContextTokens() int64 {
	if l.ContextTokens == 0 {
		return defaultSharedTokens
	}
	return max((l.ContextTokens-l.MaxOutputTokens)/2, minSharedTokens)
}

const (
	defaultSharedTokens = 32_000
	minSharedTokens     = 512
)

// toolRead is the workspace tool that reads a file.
const toolRead = "read"

// readContextFiles reads the files of a sub-agent's context. They are ordinary tool calls: subject to the role's permissions and
// approvals, recorded, repeated after a crash, and bounded. Context files must not bypass what a role forbids.
func readContextFiles(s State) State {
	if _, plain := s.plainTool(toolRead); !plain || !s.Config.Offers(toolRead) {
		return beginEnd(s.appendUserText(s.Config.Task.text()), Outcome{Kind: ErrorInvalidSpec, Error: textNoWorkspace})
	}
	s.Phase, s.ReadingContextFiles = PhaseActing, true
	for i, file := range s.Config.Task.ContextFiles {
		c := ToolCall{ID: fmt.Sprintf("context-%d", i+1), Tool: toolRead, Arguments: toJSON(map[string]string{"path": file})}
		s.CallIDs = s.CallIDs.with(c.ID)
		s.Batch = append(s.Batch, planTool(s, BatchCall{ToolCall: c, At: s.Clock.Now}))
	}
	return s
}

// appendFirstMessage appends the first message with the files that were read.
func (s State) appendFirstMessage() State {
	task, left := s.Config.Task, s.Config.Limits.SharedContextTokens()*contextBytesPerToken
	inputs := task.Inputs.calls()
	if inputs != nil {
		left = max(left-int64(len(task.Context)), minSharedTokens)
	}
	var parts []string
	var images []Image
	for i, c := range s.Batch {
		text := c.Answer
		switch {
		case left <= 0:
			text = "(left out: the files before it fill the context)"
		case c.Outcome != ToolSucceeded:
			text = "(could not be read: " + text + ")"
		}
		text = cutTo(text, max(left, 64))
		left -= int64(len(text))
		if inputs != nil {
			parts, images = append(parts, inputs[i].title()+"\n"+text), append(images, c.Images...)
			continue
		}
		parts = append(parts, fmt.Sprintf("File %s:\n%s", task.ContextFiles[min(i, len(task.ContextFiles)-1)], text))
	}
	s.Batch, s.ReadingContextFiles = nil, false
	if inputs != nil {
		text := strings.Join(append(parts, task.text()), "\n\n")
		s.History = s.History.Append(Message{Speaker: User, Text: text, Images: images, At: s.Clock.Now})
		return s
	}
	task.Context, task.ContextFiles = strings.Join(parts, "\n\n"), nil
	return s.appendUserText(task.text())
}
