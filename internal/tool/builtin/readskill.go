// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/internal/tool"
)

// ReadSkill is the name of the tool that reads skills. Only agents whose role has skills have it, so it is not one of
// Names.
const ReadSkill = "read_skill"

type Skill interface {
	// Text returns the text of a file, of the instructions if file is empty. It reports false for an unknown file.
	Text(file string) (string, bool)
	// Files returns the paths of the files besides the instructions.
	Files() []string
	// ContentLabels returns the labels of its texts.
	ContentLabels() []string
}

// Skills returns the skills of an agent by name, and their names in order.
type Skills func(ctx context.Context) (skills map[string]Skill, names []string, err error)

func NewReadSkill(skills Skills) (*tool.Tool, error) {
	d := define(tool.Spec{
		Name: ReadSkill,
		Description: "Reads a skill: the instructions for a certain kind of work, or a file that they refer to. Your system prompt lists your skills. " +
			"Read a skill before you do the work that it is for, and its files only when the instructions tell you to.",
		ReadOnly: true,
		Content:  tool.Content{Trusted: true}, // each skill has its own labels
		Parameters: json.RawMessage(`{
			"type": "object",
			"required": ["skill"],
			"additionalProperties": false,
			"properties": {
				"skill": {"type": "string", "minLength": 1, "maxLength": 64, "description": "The name of the skill"},
				"file":  {"type": "string", "maxLength": 253, "description": "The path of a file of the skill; its instructions by default"}
			}
		}`),
	}, func(ctx context.Context, _ tool.Invocation, a struct{ Skill, File string }) (tool.Output, error) {
		byName, names, err := skills(ctx)
		if err != nil {
			return tool.Output{}, fmt.Errorf("read the skills of the role: %w", err)
		}
		s, ok := byName[a.Skill]
		if !ok {
			return refused("There is no skill %q. Your skills are: %s.", a.Skill, orNone(names)), nil
		}
		text, ok := s.Text(a.File)
		if !ok {
			return refused("The skill %s has no file %q. Its files are: %s.", a.Skill, a.File, orNone(s.Files())), nil
		}
		if files := s.Files(); a.File == "" && len(files) > 0 {
			text = strings.TrimRight(text, "\n") + "\n\n[Files of this skill: " + strings.Join(files, ", ") + "]"
		}
		return tool.Output{Text: text, Labels: s.ContentLabels()}, nil
	})
	return tool.New(d.spec, d.run)
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
