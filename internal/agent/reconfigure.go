// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "slices"

// Reconfigured is the fact that the configuration of an orchestrator has changed. It takes effect with the next turn; other agents keep their
// configuration. Exactly one of the fields is set.
type Reconfigured struct {
	// Config is the new configuration. The identity of the agent, such as its kind and name, does not change.
	Config *Config `json:"config,omitempty"`
	// Hold is set if the new configuration refers to an object that does not exist. No turn begins until it does: an answer with
	// the old configuration would be unexpected.
	Hold *Hold `json:"hold,omitempty"`
}

func (Reconfigured) fact() {}

// Hold describes why no turn begins: the reason and message of a condition.
type Hold struct {
	// Generation is the generation of the configuration that is held.
	Generation int64  `json:"generation,omitempty"`
	Reason     string `json:"reason"`
	Message    string `json:"message,omitempty"`
}

// LatestGeneration returns the newest generation of the agent's object that the agent has received: its configuration is in
// effect, takes effect with the next turn, or is held.
func (s State) LatestGeneration() int64 {
	switch {
	case s.Hold != nil:
		return s.Hold.Generation
	case s.NextConfig != nil:
		return s.NextConfig.Generation
	}
	return max(s.Config.Generation, 1)
}

// ObservedGeneration returns the generation of the agent's object whose configuration is in effect, or is held.
func (s State) ObservedGeneration() int64 {
	s.NextConfig = nil
	return s.LatestGeneration()
}

// LatestConfig returns the newest configuration that the agent has received.
func (s State) LatestConfig() Config {
	if s.NextConfig != nil {
		return *s.NextConfig
	}
	return s.Config
}

// reconfigured stores a configuration for the next turn.
func reconfigured(s State, f Reconfigured) State {
	if s.Config.Kind != Orchestrator {
		return s
	}
	switch {
	case f.Hold != nil:
		if f.Hold.Generation < s.LatestGeneration() || (s.Hold != nil && *s.Hold == *f.Hold) {
			return s
		}
		s.Hold = f.Hold
	case f.Config != nil:
		next := s.Config.replacedBy(*f.Config)
		if next.Generation < s.LatestGeneration() || (s.Hold == nil && toJSON(next) == toJSON(s.LatestConfig())) {
			return s
		}
		s.Hold, s.NextConfig = nil, &next
	default:
		return s
	}
	s.ConfigEdits++
	return s
}

// replacedBy returns the changed configuration with the identity of the current one.
func (c Config) replacedBy(changed Config) Config {
	changed.Kind, changed.Name, changed.TaskName, changed.Depth, changed.ParentRole = c.Kind, c.Name, c.TaskName, c.Depth, c.ParentRole
	changed.Task, changed.ToolCall, changed.Origin, changed.ConversationID = c.Task, c.ToolCall, c.Origin, c.ConversationID
	return changed
}

// applyNextConfig puts the new configuration into effect. Work that stopped because of an exhausted budget resumes if there is
// budget again.
func applyNextConfig(s State) State {
	s.Config, s.NextConfig = *s.NextConfig, nil
	s = s.withFrame().withConfigLabels()
	s.Budget.Limit = s.Config.Limits.budget()
	if s.TurnFailure == nil || s.TurnFailure.Kind != ErrorBudgetExhausted || s.Turn.QuestionsOnly || len(s.Inbox) > 0 {
		return s
	}
	if _, ok := s.Budget.Reserve(s.Config.reserveFor(s.promptTokens(PurposeTurn, 0))); !ok {
		return s
	}
	s.Inbox = append(slices.Clip(s.Inbox), Input{Kind: InputResumed, Text: textBudgetRaised, Trigger: s.Turn.InReplyTo, Thread: s.Turn.Thread})
	return s
}
