// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package shorten cuts texts to a size. No function splits a character.
//
// Bounds in characters are for people and for the API, which counts characters. Bounds in bytes are for memory, storage and the context
// of a model. A bound in columns of a terminal is internal/cli/terminal.Fit.
package shorten

import (
	"strings"
	"unicode/utf8"
)

// Ellipsis marks the place where Head, Tail and UntrustedLine left something out.
const Ellipsis = "…"

// Head returns the beginning of text: at most limit characters, including the Ellipsis if something was left out. Bytes that are not
// UTF-8, which the API server refuses, are replaced.
func Head(text string, limit int) string {
	count := 0
	for i := range text {
		if count == limit-1 && utf8.RuneCountInString(text[i:]) > 1 {
			return valid(text[:i]) + Ellipsis
		}
		count++
	}
	return valid(text)
}

// Tail returns the end of text: at most limit characters, including the Ellipsis if something was left out.
func Tail(text string, limit int) string {
	text = valid(text)
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return Ellipsis + string(runes[len(runes)-max(limit-1, 0):])
}

// HeadBytes returns the longest beginning of text that has at most limit bytes and ends with a whole character.
func HeadBytes(text string, limit int) string {
	return text[:runeStart(text, limit)]
}

// TailBytes returns the longest end of text that has at most limit bytes and begins with a whole character.
func TailBytes(text string, limit int) string {
	i := max(len(text)-max(limit, 0), 0)
	for i < len(text) && !utf8.RuneStart(text[i]) {
		i++
	}
	return text[i:]
}

// PageBytes returns at most limit bytes of text, from the character at a byte offset on, and the offset of the next page. The limit
// must have room for a character.
func PageBytes(text string, offset, limit int) (page string, next int) {
	start := runeStart(text, offset)
	end := runeStart(text, start+limit)
	return text[start:end], end
}

// Line returns text as one line: line breaks and runs of spaces become one space.
func Line(text string) string { return strings.Join(strings.Fields(text), " ") }

// runeStart returns the position of the character that contains position i of text.
func runeStart(text string, i int) int {
	i = min(max(i, 0), len(text))
	for i > 0 && i < len(text) && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}

func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}
