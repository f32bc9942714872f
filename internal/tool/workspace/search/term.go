// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"strings"
	"unicode"
)

// term is a word to count: a word of the query, or a part of one.
type term struct {
	needle
	word   int // index of the query's word that it stands for
	weight float64
}

// maxCounted bounds the counted occurrences of a term in a file; more would not change its rank.
const maxCounted = 100

// makeTerms returns the words of a query and, with a lower weight, the parts of identifiers, so that getUserName also
// finds user_name.
func makeTerms(words []string) []term {
	const partWeight = 0.4
	var terms []term
	added := map[string]bool{}
	add := func(text string, word int, weight float64) bool {
		text = strings.ToLower(text)
		if len(text) < 2 || added[text] {
			return false
		}
		added[text] = true
		terms = append(terms, term{needle: newNeedle(text, true), word: word, weight: weight})
		return true
	}
	word := 0
	for _, w := range words {
		for _, field := range strings.FieldsFunc(w, func(r rune) bool { return !isWordRune(r) }) {
			if !add(field, word, 1) {
				continue
			}
			if parts := splitIdentifier(field); len(parts) > 1 {
				for _, part := range parts {
					add(part, word, partWeight)
				}
			}
			word++
		}
	}
	return terms
}

func isWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// splitIdentifier splits camelCase, PascalCase, HTTPServer and snake_case.
func splitIdentifier(text string) []string {
	var parts []string
	start := 0
	flush := func(end int) {
		if part := strings.Trim(text[start:end], "_"); part != "" {
			parts = append(parts, part)
		}
		start = end
	}
	for i := 1; i < len(text); i++ {
		if isBoundary([]byte(text), i) {
			flush(i)
		}
	}
	flush(len(text))
	return parts
}

// isBoundary reports whether a word, or a part of an identifier, begins or ends at i.
func isBoundary(data []byte, i int) bool {
	if i == 0 || i == len(data) || !isLetter(data[i-1]) || !isLetter(data[i]) {
		return true
	}
	if !isUpper(data[i]) {
		return false
	}
	return !isUpper(data[i-1]) || (i+1 < len(data) && isLetter(data[i+1]) && !isUpper(data[i+1]))
}

func isLetter(b byte) bool { return b >= 0x80 || ('a' <= b|0x20 && b|0x20 <= 'z') }

func isUpper(b byte) bool { return 'A' <= b && b <= 'Z' }

func (t term) frequency(data []byte) float64 {
	sum := 0.0
	t.each(data, func(_, _ int, strength float64) { sum += strength })
	return sum
}

// each calls yield for the occurrences of the term. A whole word or part of an identifier is the strongest occurrence,
// then a prefix of one, then any other.
func (t term) each(data []byte, yield func(start, end int, strength float64)) {
	const beginning, inside = 0.6, 0.1
	from := 0
	for range maxCounted {
		at := t.index(data, from)
		if at == len(data) {
			return
		}
		end := at + t.len()
		strength := inside
		if isBoundary(data, at) {
			strength = beginning
			if isBoundary(data, end) {
				strength = 1
			}
		}
		yield(at, end, strength)
		from = end
	}
}
