// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package tokens estimates the tokens of text in a prompt. Budgets, quotas, compaction and scheduling use the same estimate, so
// that they agree.
//
// Every model has its own tokenizer, and most are not published. The estimate follows what byte-pair encodings have in common:
// they split text into words, numbers, punctuation and white space, and characters that are rare in their training data cost
// more. One pass over the bytes counts those pieces; no vocabulary is needed.
//
// The weights are calibrated against two real tokenizers (calibration_test.go): on code, prose and CJK text the estimate is at
// most 10 % below either of them, and on code and prose at most 1.8 times the larger of the two. A reservation that is too large
// is corrected when the provider reports the usage; one that is too small lets a tree exceed its budget.
package tokens

import "unicode/utf8"

// The costs of a prompt besides its text.
const (
	// PerMessage covers the role and separators of a message.
	PerMessage = 4
	// PerCall covers the frame of a tool call or of a tool definition.
	PerCall = 8
	// PerImage covers an image of about a megapixel, to which providers scale down larger ones.
	PerImage = 1100
	// PerPrompt covers what providers add to a prompt.
	PerPrompt = 100
)

// token is one token in the unit of the sums: hundredths.
const token = 100

// Of estimates the tokens of text; 0 for an empty one.
func Of[T ~string | ~[]byte](text T) int64 {
	var c counter
	for i := 0; i < len(text); {
		k := classes[text[i]]
		if k == wide {
			var encoded [utf8.UTFMax]byte
			r, size := utf8.DecodeRune(encoded[:copy(encoded[:], text[i:])])
			c.wide(r)
			i += size
			continue
		}
		end, same := i+1, 0
		for end < len(text) && classes[text[end]] == k {
			if text[end] == text[end-1] {
				same++
			}
			end++
		}
		c.ascii(k, int64(end-i), int64(same), text[end-1])
		i = end
	}
	c.endRun(none)
	return (c.sum + token - 1) / token
}

// counter is the state of a pass: the sum so far, and the current run of characters.
type counter struct {
	sum    int64
	class  class
	size   int64
	same   int64 // number of characters in the run that repeat the previous one
	last   byte
	before int64 // length of the run of letters or digits directly before this run of letters or digits, or 0
}

func (c *counter) ascii(k class, size, same int64, last byte) {
	switch {
	case k == c.class: // after an accented letter
	case c.class == upper && k == lower: // a capitalised word
		c.class = lower
	case c.class == space && k == newline: // trailing spaces belong to the line break
		c.class = newline
	default:
		c.endRun(k)
	}
	c.size += size
	c.same += same
	c.last = last
}

func (c *counter) wide(r rune) {
	cost := wideCost(r)
	if isLatin(r) { // part of a word, but more expensive than ASCII letters
		if c.class != lower && c.class != upper {
			c.endRun(lower)
		}
		c.size++
	} else if c.class != none {
		c.endRun(none)
	}
	c.sum += cost
}

// endRun adds the current run to the sum and starts the next one.
func (c *counter) endRun(next class) {
	alphanumeric := c.class == lower || c.class == upper || c.class == digit
	if alphanumeric && c.before > 0 && c.before <= shortPiece && c.size <= shortPiece {
		c.sum += token / 2 // alternating letters and digits, as in base64, are rarely in a vocabulary
	}
	c.sum += c.runCost()
	c.before = 0
	if alphanumeric && (next == lower || next == upper || next == digit) {
		c.before = c.size
	}
	c.class, c.size, c.same, c.last = next, 0, 0, 0
}

// shortPiece is the maximum length of a run of letters or digits that counts as noise next to another such run.
const shortPiece = 4

func (c *counter) runCost() int64 {
	n := c.size
	if c.same >= 8 { // vocabularies contain long repetitions of one character
		n -= c.same - c.same/4
	}
	switch c.class {
	case lower:
		return token + 24*max(0, n-3) + 28*max(0, n-18)
	case upper:
		return token + 50*max(0, n-3)
	case digit:
		return token * ((c.size + 2) / 3)
	case punctuation:
		return token + 66*max(0, c.size-c.same-2) + token*c.same/12
	case newline:
		return token + token*c.size/16
	case space:
		switch {
		case c.last == '\t':
			return token + token*c.size/16
		case c.size > 1: // a single space belongs to the next word
			return token + token*c.size/48
		}
	}
	return 0
}
