// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import "slices"

// match selects the requests that a rule answers. All given conditions must hold.
type match struct {
	// Role is the agent's role, by name or display name, from its system prompt. A prompt without a role is the
	// orchestrator's. One of several suffices.
	Role roles `yaml:"role"`
	// Model and System match the model's name and the system prompt.
	Model  *pattern `yaml:"model"`
	System *pattern `yaml:"system"`
	// LastMessage matches the newest message; From is its role.
	LastMessage *pattern `yaml:"lastMessage"`
	From        string   `yaml:"from"`
	// History matches any message of the conversation; the newest match gives the captures.
	History *pattern `yaml:"history"`
	// ToolResult matches one of the tool results at the end of the conversation.
	ToolResult *toolResult `yaml:"toolResult"`
	// Images is the number of images in the newest message.
	Images *int `yaml:"images"`
	// Tools must all be offered. NoTools requires that none is.
	Tools   names `yaml:"tools"`
	NoTools bool  `yaml:"noTools"`
	// Turn is 1 for the first call of a conversation, plus the number of replies since.
	Turn int `yaml:"turn"`
}

type toolResult struct {
	Tool string   `yaml:"tool"`
	Text *pattern `yaml:"text"`
}

// matches reports whether the conversation matches, and fills captures. Cheap conditions are checked first.
func (m *match) matches(c *conversation, captures map[string]any) bool {
	switch {
	case m.Turn != 0 && m.Turn != c.turn,
		m.From != "" && m.From != c.last().role,
		m.NoTools && len(c.tools) > 0,
		m.Images != nil && *m.Images != c.last().images,
		len(m.Role) > 0 && !slices.Contains(m.Role, c.roleKey),
		!m.matchesTools(c),
		!m.Model.match(c.model, captures),
		!m.LastMessage.match(c.last().text, captures),
		!m.ToolResult.matches(c, captures),
		!m.System.match(c.system, captures):
		return false
	}
	return m.matchesHistory(c, captures)
}

func (m *match) matchesTools(c *conversation) bool {
	for _, name := range m.Tools {
		if !c.offers(name) {
			return false
		}
	}
	return true
}

func (m *match) matchesHistory(c *conversation, captures map[string]any) bool {
	if m.History == nil {
		return true
	}
	for i := len(c.messages) - 1; i >= 0; i-- {
		if m.History.match(c.messages[i].text, captures) {
			return true
		}
	}
	return false
}

func (t *toolResult) matches(c *conversation, captures map[string]any) bool {
	if t == nil {
		return true
	}
	return c.toolResults(func(tool, result string) bool {
		if t.Tool != "" && t.Tool != tool || !t.Text.match(result, captures) {
			return false
		}
		captures["toolResult"] = result
		return true
	})
}
