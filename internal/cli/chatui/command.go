// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"errors"
	"fmt"
	"strings"
)

// Command is a parsed line of input.
type Command struct {
	// Verb is say, attach, approve, deny, cancel, new, role, model, diff, help or quit.
	Verb string
	// Task is the task that the command names, or "".
	Task string
	// Text is the message, the comment on a decision, the path of a file to attach, or the name after new, role or model.
	Text string
}

// Help lists the commands.
const Help = "/attach FILE · /approve [TASK] · /deny [TASK] [COMMENT] · /cancel [TASK] · /diff · /role NAME · /model NAME · /new [NAME] · /quit"

// Parse parses a line. A line that begins with a slash is a command; a leading double slash stands for a literal
// slash. isTask reports whether a word is the name of a task.
func Parse(line string, isTask func(string) bool) (Command, error) {
	line = strings.TrimSpace(line)
	if literal, ok := strings.CutPrefix(line, "//"); ok {
		return Command{Verb: "say", Text: "/" + literal}, nil
	}
	rest, ok := strings.CutPrefix(line, "/")
	if !ok {
		return Command{Verb: "say", Text: line}, nil
	}
	verb, text, _ := strings.Cut(rest, " ")
	c := Command{Verb: verb, Text: strings.TrimSpace(text)}
	switch verb {
	case "approve", "deny", "cancel":
		if first, others, _ := strings.Cut(c.Text, " "); isTask(first) {
			c.Task, c.Text = first, strings.TrimSpace(others)
		}
		if verb == "cancel" && c.Text != "" {
			return c, fmt.Errorf("there is no task %q: /cancel TASK stops a task, /cancel stops everything", c.Text)
		}
		return c, nil
	case "attach":
		if c.Text == "" {
			return c, errors.New("/attach needs the path of a file")
		}
		return c, nil
	case "role", "model":
		if c.Text == "" {
			return c, fmt.Errorf("/%s needs a name", verb)
		}
		return c, nil
	case "help", "quit", "new", "diff":
		return c, nil
	}
	return c, fmt.Errorf("there is no command /%s: use %s; to send a message that begins with a slash, begin it with //", verb, Help)
}
