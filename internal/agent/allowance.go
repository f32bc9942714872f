// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxAllowances bounds the allowances of a chat.
const MaxAllowances = 16

// Allowance is a standing decision of a person for one chat: it approves the calls of one tool whose arguments match. It never
// applies to a role with Separation, because there a person decides about each call.
type Allowance struct {
	// Name is the name of the message that contains it.
	Name      string            `json:"name"`
	Tool      string            `json:"tool"`
	Arguments []ArgumentPattern `json:"arguments,omitempty"`
	// By is the user name of the person.
	By string `json:"by"`
	At Time   `json:"at,omitempty"`
	// UID and Call identify the agent and the call that were shown to the person. Comment is about that call only.
	UID     string `json:"uid,omitempty"`
	Call    string `json:"call,omitempty"`
	Comment string `json:"comment,omitempty"`
}

// ArgumentPattern restricts an argument of a call: it must be a text that matches the pattern. See matchesPattern.
type ArgumentPattern struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"`
}

// Allowed is the fact that a person allowed calls of a tool for the rest of the chat.
type Allowed struct {
	// Message is the name of the message that contains the allowance; repeated events are ignored.
	Message   string            `json:"message"`
	Tool      string            `json:"tool"`
	Arguments []ArgumentPattern `json:"arguments,omitempty"`
	By        string            `json:"by"`
	// UID and Call identify the agent and the call that were shown to the person. Comment is about that call only.
	UID     string `json:"uid,omitempty"`
	Call    string `json:"call,omitempty"`
	Comment string `json:"comment,omitempty"`
}

// AllowanceRevoked is the fact that a person revoked an allowance. Calls that it has approved stay approved.
type AllowanceRevoked struct {
	Allowance string `json:"allowance"`
	// Message is the name of the message that requests it; repeated events are ignored.
	Message string `json:"message"`
	By      string `json:"by"`
}

func (Allowed) fact()          {}
func (AllowanceRevoked) fact() {}

// Text describes the calls that the allowance approves.
func (f Allowed) Text() string {
	text := "Allowed " + f.Tool + " for this chat"
	for i, p := range f.Arguments {
		text += []string{", if ", " and "}[min(i, 1)] + p.Name + " is " + p.Pattern
	}
	return text + "."
}

// Text describes the fact.
func (f AllowanceRevoked) Text() string { return "Revoked the allowance " + f.Allowance + "." }

// allowed adds an allowance, and approves the open asks that it covers.
func allowed(s State, f Allowed) State {
	if s.Config.Kind != Orchestrator || f.Message == "" || f.By == "" || s.Seen.has(f.Message) || len(s.Allowances) >= MaxAllowances {
		return s
	}
	a := Allowance{Name: f.Message, Tool: f.Tool, Arguments: f.Arguments, By: f.By, At: s.Clock.Now, UID: f.UID, Call: f.Call, Comment: f.Comment}
	s.Allowances = append(slices.Clip(s.Allowances), a)
	s = s.markHandled(f.Message)
	for i, ask := range s.Asks {
		if ask.Open && a.covers(ask.Asked) {
			s = s.approveAsk(i, a)
		}
	}
	return s
}

// allowanceRevoked removes an allowance.
func allowanceRevoked(s State, f AllowanceRevoked) State {
	i := slices.IndexFunc(s.Allowances, func(a Allowance) bool { return a.Name == f.Allowance })
	if i < 0 || s.Seen.has(f.Message) {
		return s
	}
	s.Allowances = slices.Delete(slices.Clone(s.Allowances), i, i+1)
	return s.markHandled(f.Message)
}

// allowanceFor returns the first allowance that covers an ask.
func (s State) allowanceFor(f Asked) (Allowance, bool) {
	i := slices.IndexFunc(s.Allowances, func(a Allowance) bool { return a.covers(f) })
	if i < 0 {
		return Allowance{}, false
	}
	return s.Allowances[i], true
}

// covers reports whether an allowance approves the call of an ask.
func (a Allowance) covers(f Asked) bool {
	return f.Kind == AskApproval && !f.Separation && a.Tool == f.Tool && MatchesArguments(a.Arguments, f.Arguments)
}

// approveAsk queues the approval of an ask by an allowance and closes the ask. The agent that asked checks the digest.
func (s State) approveAsk(i int, a Allowance) State {
	ask := s.Asks[i]
	item := Item{
		ID: "decision/" + ask.Agent + "/" + ask.Call, Kind: ItemDecision, Agent: ask.Agent, UID: ask.UID, Call: ask.Call, About: ask.Task,
		Digest: ask.Digest(), By: a.By, Allowance: a.Name,
	}
	if a.Call == ask.Call && a.UID == ask.UID {
		item.Text, item.Message = a.Comment, a.Name
	}
	if !slices.ContainsFunc(s.Outbox, func(other Item) bool { return other.ID == item.ID }) {
		s = s.enqueue(item)
	}
	return s.withAsk(i, func(a *Ask) { a.Open = false })
}

// MatchesArguments reports whether the arguments of a call match all patterns. Every argument with a pattern must be a text. Arguments that
// two programs could read differently match nothing: invalid UTF-8, and names that occur twice or differ only in case.
func MatchesArguments(patterns []ArgumentPattern, arguments string) bool {
	if len(patterns) == 0 {
		return true
	}
	values, ok := TextArguments(arguments)
	if !ok {
		return false
	}
	return !slices.ContainsFunc(patterns, func(p ArgumentPattern) bool {
		value, isText := values[p.Name]
		return !isText || !matchesPattern(p.Pattern, value)
	})
}

// TextArguments returns the arguments of a call that are texts. It reports false if the arguments are ambiguous.
func TextArguments(arguments string) (map[string]string, bool) {
	if !utf8.ValidString(arguments) {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(arguments))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, false
	}
	values, names := map[string]string{}, map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		name, isName := token.(string)
		var value json.RawMessage
		if err != nil || !isName || decoder.Decode(&value) != nil {
			return nil, false
		}
		folded := strings.ToLower(strings.ToUpper(name))
		if names[folded] {
			return nil, false
		}
		names[folded] = true
		var text string
		if bytes.HasPrefix(value, []byte{'"'}) && json.Unmarshal(value, &text) == nil {
			values[name] = text
		}
	}
	_, err := decoder.Token()
	return values, err == nil
}

// matchesPattern reports whether a text matches a pattern. In a pattern, * stands for any run of characters without control characters
// and without ; & | < > $ and the backquote, which make a shell run something else. A backslash makes the next character literal. A pattern with * matches
// no text with a path segment "..", which would leave the directory that the pattern names.
func matchesPattern(pattern, text string) bool {
	literals := splitPattern(pattern)
	first, rest := literals[0], literals[1:]
	if len(rest) == 0 {
		return text == first
	}
	last, middle := rest[len(rest)-1], rest[:len(rest)-1]
	if hasParentSegment(text) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text[len(first):], last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, literal := range middle {
		run, after, found := strings.Cut(text, literal)
		if !found || strings.ContainsFunc(run, neverWild) {
			return false
		}
		text = after
	}
	return !strings.ContainsFunc(text, neverWild)
}

// splitPattern splits a pattern at every * that no backslash precedes, into texts without escapes.
func splitPattern(pattern string) []string {
	literals, escaped := []string{""}, false
	for _, r := range pattern {
		last := len(literals) - 1
		switch {
		case escaped || r != '*' && r != '\\':
			literals[last] += string(r)
			escaped = false
		case r == '\\':
			escaped = true
		default:
			literals = append(literals, "")
		}
	}
	if escaped {
		literals[len(literals)-1] += "\\"
	}
	return literals
}

// neverWild reports whether * never stands for a character. The replacement character stands for bytes that other programs may read
// differently.
func neverWild(r rune) bool {
	return unicode.IsControl(r) || r == utf8.RuneError || strings.ContainsRune(";&|<>$`", r)
}

// hasParentSegment reports whether a text contains the path segment "..", also in the encoding of URLs.
func hasParentSegment(text string) bool {
	decoded := strings.NewReplacer("%2e", ".", "%2f", "/", "%5c", "/", "\\", "/").Replace(strings.ToLower(text))
	return slices.Contains(strings.Split(decoded, "/"), "..")
}
