// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/scanner"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var (
	// path matches a field. One that something precedes, as in object.spec.role, is code.
	path = regexp.MustCompile(`(?:^|[^\w$.?]|[{(\s'"` + "`" + `@]\.)((?:spec|status)(?:\.[a-z][a-zA-Z0-9]*(?:\[[^\]]*\])?)+)\b`)
	word = regexp.MustCompile(`[A-Za-z][A-Za-z-]*[a-z]`)
	// owner matches the kind after a field, as in "spec.url of the ToolServer".
	owner = regexp.MustCompile("^`? of (?:the |a |an |each |that )?`?([A-Za-z-]+)")
	// with matches the kind before a field, as in "an AgentMessage with spec.cancel".
	with = regexp.MustCompile("([A-Za-z-]+)(?:'s| with) `?$")
	// sentence matches the end of a sentence or of a row of a table.
	sentence = regexp.MustCompile(`\.\s|\|\n|\n\s*\n`)
	// value matches the end of a sentence or of a key in YAML.
	value = regexp.MustCompile(`[.:]\s`)
	// quoted matches the strings and the text of elements on a line of TypeScript.
	quoted     = regexp.MustCompile("'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|>[^<>{}\n]*<")
	code       = regexp.MustCompile(`\$\{[^}]*\}`)
	dashes     = regexp.MustCompile(`(?m)^---$`)
	restricted = regexp.MustCompile(`resources: \[(\w+)\]`)
	newline    = regexp.MustCompile(`[^\\]\n`)
	fence      = regexp.MustCompile("(?s)```.*?```")
)

// passage is text whose fields belong together.
type passage struct {
	line int
	text string
	// kind is the kind that the file describes, or "".
	kind string
	// command means that the text is a command, which may name any kind in lower case.
	command bool
}

// about are the kinds that files are about, by the part of their name that says it.
var about = map[string]string{
	"agentchat": "AgentChat", "agentmessage": "AgentMessage", "agentquota": "AgentQuota", "agentrole": "AgentRole",
	"agenttask": "AgentTask", "agenttrigger": "AgentTrigger", "agentevaluation": "AgentEvaluation", "internal/suite/": "AgentEvaluation",
	"internal/trigger/": "AgentTrigger", "internal/role/": "AgentRole",
	"modelprovider": "ModelProvider", "subagent": "SubAgent", "toolserver": "ToolServer", "toolpolicy": "ToolPolicy", "internal/policy/": "ToolPolicy", "tool/mcp/": "ToolServer",
}

func kindFromPath(name string) string {
	for part, kind := range about {
		if strings.Contains(filepath.ToSlash(name), part) {
			return kind
		}
	}
	return ""
}

func passages(name, source string) []passage {
	switch filepath.Ext(name) {
	case ".go":
		return ofGo(kindFromPath(name), source)
	case ".md":
		return ofMarkdown(source)
	case ".ts", ".tsx":
		return ofTypeScript(source)
	}
	return ofYAML(kindFromPath(name), source)
}

// ofGo returns the string literals; those joined by + are one.
func ofGo(kind, source string) (list []passage) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, []byte(source), nil, 0)
	joined := false
	for last := token.ILLEGAL; ; {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return list
		}
		if tok == token.STRING {
			text, _ := strconv.Unquote(literal) // the scanner lets only literals through
			if joined && last == token.ADD {
				list[len(list)-1].text += text
			} else {
				list = append(list, passage{line: file.Line(pos), text: text, kind: kind})
			}
		}
		joined = tok == token.STRING || tok == token.ADD && last == token.STRING
		last = tok
	}
}

// ofMarkdown returns sentences, and each command of a block of code.
func ofMarkdown(source string) (list []passage) {
	end := 0
	for _, block := range append(fence.FindAllStringIndex(source, -1), []int{len(source), len(source)}) {
		list = append(list, split(sentence, source, end, block[0])...)
		commands := split(newline, source, block[0], block[1])
		for i := range commands {
			commands[i].command = true
		}
		list, end = append(list, commands...), block[1]
	}
	return list
}

// split returns the parts of source[begin:end] between the matches of a separator.
func split(separator *regexp.Regexp, source string, begin, end int) (list []passage) {
	last := begin
	for _, at := range append(separator.FindAllStringIndex(source[begin:end], -1), []int{0, end - begin}) {
		next := begin + at[1]
		list = append(list, passage{line: lineNumber(source, last), text: source[last:next]})
		last = next
	}
	return list
}

func lineNumber(source string, offset int) int { return 1 + strings.Count(source[:offset], "\n") }

func ofTypeScript(source string) (list []passage) {
	for _, at := range quoted.FindAllStringIndex(source, -1) {
		text := code.ReplaceAllString(source[at[0]:at[1]], "")
		list = append(list, passage{line: lineNumber(source, at[0]), text: text})
	}
	return list
}

// ofYAML returns the sentences of manifests. A policy is about the resource that it restricts.
func ofYAML(kind, source string) (list []passage) {
	end := 0
	for _, document := range append(dashes.FindAllStringIndex(source, -1), []int{len(source), len(source)}) {
		if m := restricted.FindStringSubmatch(source[end:document[0]]); m != nil {
			kind = kindFromPath(m[1])
		}
		for _, p := range split(value, source, end, document[0]) {
			p.kind = kind
			list = append(list, p)
		}
		end = document[1]
	}
	return list
}
