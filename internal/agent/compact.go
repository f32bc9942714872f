// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"strings"
)

// compactAtPercent is the share of the model's context at which a prompt, with room for the reply, is compacted.
const compactAtPercent = 85

// needsCompaction reports whether the next prompt would be too long, and how many of the newest messages to keep.
func (s State) needsCompaction() (keep int, ok bool) {
	context := s.Config.Limits.ContextTokens
	if context == 0 || s.promptTokens(PurposeTurn, 0)+s.Config.Limits.MaxOutputTokens <= context*compactAtPercent/100 {
		return 0, false
	}
	return s.messagesToKeep()
}

// messagesToKeep returns how many of the newest messages a compaction keeps: the newer half of the history, or less of
// a very long one.
func (s State) messagesToKeep() (keep int, ok bool) {
	half := s.History.Tokens() / 2
	if context := s.Config.Limits.ContextTokens; context > 0 {
		half = min(half, context/4)
	}
	return s.messagesThatFit(half)
}

// messagesThatFit returns how many of the newest messages fit into a number of tokens. A call is never separated from
// its answers: the oldest message kept is never a tool's. The last exchange is kept even if it does not fit. ok is
// false if nothing would be cut.
func (s State) messagesThatFit(tokens int64) (keep int, ok bool) {
	count, fits := 0, 0
	for e := s.History.last; e != nil; e = e.previous {
		count++
		size := s.History.Tokens() - History{last: e.previous}.Tokens()
		if e.message.Speaker == ToolSpeaker {
			continue
		}
		if size > tokens && fits > 0 {
			break
		}
		fits = count
		if size > tokens {
			break
		}
	}
	return fits, fits > 0 && fits < s.History.Len()
}

// applySummary replaces the older messages with a summary and makes the model call that was due. Children, open calls
// and questions are part of the state, not of the history, so they are unaffected.
func applySummary(s State, keep int, summary string) State {
	if strings.TrimSpace(summary) == "" {
		summary = fmt.Sprintf("(%d earlier messages were dropped; no summary of them could be made.)", s.History.Len()-keep)
	}
	s.Summary, s.SharedSummary = summary, nil
	s.History = NewHistory(s.History.Newest(keep)...)
	return startModelCall(s, PurposeTurn, 0)
}

// FollowUp returns the start of an agent that continues the conversation of this one.
func (s State) FollowUp(started Started) Started {
	started.History, started.Summary, started.ContinuedLabels = s.History.Messages(), s.Summary, s.LabelNames()
	return started
}

// compactionPrompt returns the prompt that asks for a summary of the older messages.
func compactionPrompt(s State) Prompt {
	messages := s.History.Messages()
	old := messages[:max(0, len(messages)-s.ModelCall.Keep)]
	return Prompt{
		System: "You condense the history of an agent's work, so that the agent can continue " +
			"with nothing but your summary. " +
			"Keep goals, decisions, facts, names, paths, numbers, results of tools, open questions and what is left to do. " +
			"Leave out pleasantries and what turned out not to matter. Invent nothing. Answer with the summary alone.",
		Messages: []Message{{Speaker: User, Text: textToSummarise(s.Summary, old, s.compactionTokens())}},
	}
}

func (m Message) transcript() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", m.Speaker, m.Text)
	for _, c := range m.Calls {
		fmt.Fprintf(&b, "\ncalls %s %s", c.Tool, c.Arguments)
	}
	for _, image := range m.Images {
		fmt.Fprintf(&b, "\n[image: %s]", image)
	}
	return b.String()
}
