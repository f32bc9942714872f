// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package words divides text into the words that full-text search compares.
//
// The databases of the ledger index these words as they are, and a query consists of nothing else: both databases find
// the same, and no text is part of a query's syntax.
package words

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxRunes bounds a word: longer ones, such as encoded data, are compared by their beginning.
const maxRunes = 40

// Word is a word of a text.
type Word struct {
	// Start and End are the position of the word in the text, in bytes.
	Start, End int
	// Text is the word in the form in which words are compared: lower case, without accents.
	Text string
}

// Of returns the words of a text in order. A word is a sequence of letters, digits and marks. Scripts without spaces between
// words have a word for each pair of neighbouring characters, and one for the last character of a sequence.
func Of(text string) iter.Seq[Word] {
	return func(yield func(Word) bool) {
		for rest := 0; rest < len(text); {
			start, end, spaced := next(text, rest)
			rest = end
			if start == end {
				return
			}
			if spaced {
				if folded := fold(text[start:end]); folded != "" && !yield(Word{start, end, folded}) {
					return
				}
				continue
			}
			for word := range pairs(text, start, end) {
				if !yield(word) {
					return
				}
			}
		}
	}
}

// next returns the next sequence of characters that belong together; start is end if there is none. spaced reports whether their
// script has spaces between words.
func next(text string, from int) (start, end int, spaced bool) {
	start = -1
	for i, r := range text[from:] {
		i += from
		switch {
		case !isPart(r):
			if start >= 0 {
				return start, i, spaced
			}
		case start < 0:
			start, spaced = i, !isUnspaced(r)
		case spaced == isUnspaced(r) && !unicode.IsMark(r):
			return start, i, spaced
		}
	}
	if start < 0 {
		start = len(text)
	}
	return start, len(text), spaced
}

func isPart(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

// isUnspaced reports whether the script of a character has no spaces between words. The length mark of Japanese belongs to two
// scripts.
func isUnspaced(r rune) bool {
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// pairs returns the words of text[start:end], which has no spaces between words.
func pairs(text string, start, end int) iter.Seq[Word] {
	return func(yield func(Word) bool) {
		for first := start; first < end; {
			_, size := utf8.DecodeRuneInString(text[first:])
			second := first + size
			_, size = utf8.DecodeRuneInString(text[second:end])
			if folded := fold(text[first : second+size]); folded != "" && !yield(Word{first, second + size, folded}) {
				return
			}
			first = second
		}
	}
}

// fold returns a word in the form in which words are compared.
func fold(word string) string {
	var folded strings.Builder
	n := 0
	for _, r := range word {
		if r < utf8.RuneSelf {
			folded.WriteRune(unicode.ToLower(r))
			n++
		} else {
			for _, r := range norm.NFKD.String(string(r)) {
				// Accents are left out; the marks of other scripts are part of the word.
				if isPart(r) && (r < firstAccent || r > lastAccent) {
					folded.WriteRune(unicode.ToLower(r))
					n++
				}
			}
		}
		if n >= maxRunes {
			break
		}
	}
	return norm.NFC.String(folded.String())
}

// The first and the last combining accent of Latin, Greek and Cyrillic letters.
const firstAccent, lastAccent = '\u0300', '\u036F'

// Distinct returns the different words of a text, sorted.
func Distinct(text string) []string {
	var all []string
	for word := range Of(text) {
		all = append(all, word.Text)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Term is a word of a query.
type Term struct {
	Text string
	// Prefix reports that it matches the words that begin with it, not only the word itself.
	Prefix bool
}

// maxTerms bounds the words of a query.
const maxTerms = 16

// minPrefix is the length from which a term matches longer words: fewer characters begin too many words.
const minPrefix = 3

// Query returns the terms of a query, all of which a text must contain. Punctuation has no meaning. A query without words has
// none.
func Query(text string) []Term {
	var terms []Term
	for start, end, spaced := next(text, 0); start < end; start, end, spaced = next(text, end) {
		if spaced {
			terms = appendTerm(terms, fold(text[start:end]), minPrefix)
			continue
		}
		whole := slices.Collect(pairs(text, start, end))
		if len(whole) > 1 {
			whole = whole[:len(whole)-1] // the last character is part of the pair before it
		}
		for _, word := range whole {
			terms = appendTerm(terms, word.Text, 1)
		}
	}
	return terms[:min(len(terms), maxTerms)]
}

func appendTerm(terms []Term, word string, minPrefix int) []Term {
	term := Term{Text: word, Prefix: utf8.RuneCountInString(word) >= minPrefix}
	if word == "" || slices.Contains(terms, term) {
		return terms
	}
	return append(terms, term)
}

// Matches reports whether a word of a text is the term, or begins with it.
func (t Term) Matches(word string) bool {
	return word == t.Text || t.Prefix && strings.HasPrefix(word, t.Text)
}
