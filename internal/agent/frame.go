// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "github.com/nestor-dev/nestor/internal/tokens"

// frame is the part of a prompt that does not belong to the conversation. It depends only on the configuration, which changes
// rarely, so the state caches it with its token counts.
type frame struct {
	system string
	tools  []Tool
	// systemTokens and toolTokens are token estimates.
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

// withFrame updates the frame after the configuration has changed. A tool run has none, because it calls no model.
func (s State) withFrame() State {
	s.frame = nil
	if s.Config.Kind != ToolRun {
		s.frame = newFrame(s.Config)
	}
	return s
}

// promptFrame returns the cached frame, or computes it.
func (s State) promptFrame() *frame {
	if s.frame != nil {
		return s.frame
	}
	return newFrame(s.Config)
}
