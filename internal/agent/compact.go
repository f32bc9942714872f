// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
	"strings"
)

// A prompt that would fill this share of the model's context, the answer included, is compacted.
const compactAtPercent = 85

// needsCompaction says whether the next prompt would be too long, and how many of the newest messages to keep.
func (s State) needsCompaction() (keep int, ok bool) {
	context := s.Config.Limits.ContextTokens
	if context == 0 || s.promptTokens(PurposeTurn, 0)+s.Config.Limits.MaxOutputTokens <= context*compactAtPercent/100 {
		return 0, false
	}
	return s.compact()
}

// compact keeps the newer half of the history, or less of one that is very long.
func (s State) compact() (keep int, ok bool) {
	half := s.History.Tokens() / 2
	if context := s.Config.Limits.ContextTokens; context > 0 {
		half = min(half, context/4)
	}
	return s.compactTo(half)
}

// compactTo returns how many of the newest messages to keep so that they stay within a number of tokens. A call is never
// parted from its answers: the oldest message that stays is not a tool's. If not even the last exchange fits, it is
// kept all the same. It fails if nothing would be cut off.
func (s State) compactTo(tokens int64) (keep int, ok bool) {
	var size int64
	count, fitting := 0, 0
	for m := range s.History.Backward() {
		size += m.tokens()
		count++
		if m.Speaker == ToolSpeaker {
			continue
		}
		if size > tokens && fitting > 0 {
			break
		}
		fitting = count
		if size > tokens {
			break
		}
	}
	return fitting, fitting > 0 && fitting < s.History.Len()
}

// compacted puts the summary in the place of the older messages and makes the call that was due. Children, open calls
// and questions are state, not history: they are not forgotten.
func compacted(s State, keep int, summary string) State {
	if strings.TrimSpace(summary) == "" {
		summary = fmt.Sprintf("(%d earlier messages were dropped; no summary of them could be made.)", s.History.Len()-keep)
	}
	s.Summary = summary
	s.History = NewHistory(s.History.Newest(keep)...)
	return call(s, PurposeTurn, 0)
}

// promptTokens estimates the prompt of a call.
func (s State) promptTokens(purpose Purpose, keep int) int64 {
	if purpose == PurposeCompact {
		old := s.History.Tokens() - NewHistory(s.History.Newest(keep)...).Tokens()
		return min(old, s.compactionRoom()) + int64(len(s.Summary)/4) + frameTokens
	}
	tokens := s.History.Tokens() + int64(len(s.Summary)+len(SystemPrompt(s.Config)))/4 + frameTokens
	if purpose == PurposeTurn {
		tokens += s.Config.toolTokens()
	}
	return tokens
}

// frameTokens stands for what providers put around a prompt.
const frameTokens = 100

// compactionRoom is how much of the old messages a compaction call may show.
func (s State) compactionRoom() int64 {
	room := s.Config.Limits.ContextTokens - s.Config.Limits.MaxOutputTokens - frameTokens - int64(len(s.Summary)/4)
	return max(room, 1024)
}

// compactionPrompt asks for a summary of the older messages. They are told as text, so that a call whose answers do not
// fit breaks no rule of the provider.
func compactionPrompt(s State) Prompt {
	messages := s.History.Messages()
	old := messages[:max(0, len(messages)-s.Request.Keep)]
	budget := s.compactionRoom() * 4
	var parts []string
	for _, m := range slices.Backward(old) {
		text := m.transcript()
		if budget -= int64(len(text)); budget < 0 {
			parts = append(parts, "(earlier messages left out)")
			break
		}
		parts = append(parts, text)
	}
	slices.Reverse(parts)
	if s.Summary != "" {
		parts = append([]string{"Summary of what came before: " + s.Summary}, parts...)
	}
	return Prompt{
		System: "You condense the history of an agent's work, so that the agent can go on with nothing but your summary. " +
			"Keep goals, decisions, facts, names, paths, numbers, results of tools, open questions and what is left to do. " +
			"Leave out pleasantries and what turned out not to matter. Invent nothing. Answer with the summary alone.",
		Messages: []Message{{Speaker: User, Text: strings.Join(parts, "\n\n")}},
	}
}

func (m Message) transcript() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", m.Speaker, m.Text)
	for _, c := range m.Calls {
		fmt.Fprintf(&b, "\ncalls %s %s", c.Tool, c.Arguments)
	}
	return b.String()
}
