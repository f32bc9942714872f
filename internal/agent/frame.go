// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "github.com/nestor-dev/nestor/internal/tokens"

// frame is what the prompts of an agent have besides the conversation. It follows from the configuration, which changes seldom, so a
// state carries it along: a turn does not build and count it again.
type frame struct {
	system string
	tools  []Tool
	// systemTokens and toolTokens estimate what they cost in a prompt.
	systemTokens, toolTokens int64
}

func newFrame(c Config) *frame {
	f := &frame{system: SystemPrompt(c), tools: Tools(c)}
	f.systemTokens = tokens.Of(f.system)
	for _, t := range f.tools {
		f.toolTokens += tokens.PerCall + tokens.Of(t.Name) + tokens.Of(t.Description) + tokens.Of(t.Parameters)
	}
	return f
}

// withFrame is the state after its configuration has changed. A tool run asks no model.
func (s State) withFrame() State {
	s.frame = nil
	if s.Config.Kind != ToolRun {
		s.frame = newFrame(s.Config)
	}
	return s
}

// promptFrame is the frame that the state carries, or a new one.
func (s State) promptFrame() *frame {
	if s.frame != nil {
		return s.frame
	}
	return newFrame(s.Config)
}
