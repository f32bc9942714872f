// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command is one command of a page.
type Command struct {
	Line int
	Text string
	// Code is the exit code that the page states.
	Code int
	// Serves means that it runs until it is stopped.
	Serves bool
	// Want is its output, if the page shows it.
	Want *string
}

// IsShell reports whether a block has commands.
func (b Block) IsShell() bool {
	switch b.Language {
	case "sh", "shell", "bash", "console":
		return true
	}
	return false
}

// Commands returns the commands of a block, in order.
func (b Block) Commands() ([]Command, error) {
	if b.Language != "console" {
		return statements(b.Text, b.Line)
	}
	return b.session()
}

// session parses a console session. A command may span several lines if the shell would prompt for more.
func (b Block) session() ([]Command, error) {
	var commands []Command
	lines := strings.SplitAfter(b.Text, "\n")
	for i := 0; i < len(lines); {
		typed, prompted := strings.CutPrefix(lines[i], "$ ")
		if !prompted {
			if i == 0 {
				return nil, fmt.Errorf("line %d: a block of the language console begins with \"$ \" and a command", b.Line)
			}
			*commands[len(commands)-1].Want += lines[i]
			i++
			continue
		}
		first := i
		found, err := statements(typed, b.Line+first)
		for i++; err != nil && i < len(lines); i++ {
			typed += lines[i]
			found, err = statements(typed, b.Line+first)
		}
		if err != nil {
			return nil, err
		}
		if len(found) != 1 {
			return nil, fmt.Errorf("line %d: a prompt must be followed by one command, not %d", b.Line+first, len(found))
		}
		found[0].Want = new(string)
		commands = append(commands, found...)
	}
	return commands, nil
}

var exitCode = regexp.MustCompile(`exit code (\d+)`)

// statements splits a shell script into its statements.
func statements(script string, line int) ([]Command, error) {
	file, err := syntax.NewParser(syntax.KeepComments(true), syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	var commands []Command
	for _, statement := range file.Stmts {
		begin, end := int(statement.Pos().Offset()), statementEnd(statement, script)
		command := Command{Line: line + int(statement.Pos().Line()) - 1, Text: script[begin:end]}
		command.expect(script[end:])
		for _, redirect := range statement.Redirs {
			command.expect(script[redirect.Word.End().Offset():]) // the line before a here-document
		}
		commands = append(commands, command)
	}
	return commands, nil
}

// statementEnd returns the end of a statement, including its here-documents.
func statementEnd(statement *syntax.Stmt, script string) int {
	end := int(statement.End().Offset())
	syntax.Walk(statement, func(node syntax.Node) bool {
		if redirect, ok := node.(*syntax.Redirect); ok && redirect.Hdoc != nil {
			content := int(redirect.Hdoc.End().Offset())
			delimiter, _, _ := strings.Cut(script[content:], "\n")
			end = max(end, content+len(delimiter))
		}
		return true
	})
	return end
}

// expect parses the comment after a command.
func (c *Command) expect(rest string) {
	rest, _, _ = strings.Cut(rest, "\n")
	_, remark, found := strings.Cut(rest, "#")
	if !found {
		return
	}
	if code := exitCode.FindStringSubmatch(remark); code != nil {
		c.Code, _ = strconv.Atoi(code[1]) // the expression lets only digits through
	}
	c.Serves = strings.Contains(remark, "Ctrl-C")
}

var fileName = regexp.MustCompile(`^# ([a-zA-Z0-9_-]+\.(?:yaml|yml|json|md|txt))\n`)

// File returns the name of the file that a block is to be saved as, or "".
func (b Block) File() string {
	if found := fileName.FindStringSubmatch(b.Text); found != nil && !b.IsShell() {
		return found[1]
	}
	return ""
}
