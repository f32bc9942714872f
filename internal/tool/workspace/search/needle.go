// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"strings"
)

// needle is text to search for, optionally ignoring ASCII case.
type needle struct {
	text []byte // lower case if fold
	fold bool
	rare int // index of the byte of text that is rarest in source code
}

func newNeedle(text string, fold bool) needle {
	if fold {
		text = strings.ToLower(text)
	}
	n := needle{text: []byte(text), fold: fold}
	for i := range n.text {
		if commonness(n.text[i]) < commonness(n.text[n.rare]) {
			n.rare = i
		}
	}
	return n
}

func (n needle) len() int { return len(n.text) }

// commonness ranks bytes by their frequency in source code. Only the approximate order matters.
func commonness(b byte) int {
	const common = "zqxj#@~^|$`%!?&kwv<>[]+'\\{}*;:ybhgp-=fmu/()dc_,.\"lsnoirate\n\t "
	return strings.IndexByte(common, b)
}

// index returns the first occurrence of the needle in data at or after from, or
// len(data) if there is none.
func (n needle) index(data []byte, from int) int {
	if !n.fold {
		if i := bytes.Index(data[from:], n.text); i >= 0 {
			return from + i
		}
		return len(data)
	}
	return n.indexFold(data, from)
}

// indexFold searches for the rarest byte in both cases and compares around it. Each case has its own cursor, so that
// no byte is scanned twice.
func (n needle) indexFold(data []byte, from int) int {
	lower := n.text[n.rare]
	upper := toUpper(lower)
	at := from + n.rare
	nextLower, nextUpper := -1, -1
	for at < len(data) {
		if nextLower < at {
			nextLower = indexByteFrom(data, lower, at)
		}
		if nextUpper < at {
			nextUpper = nextLower
			if upper != lower {
				nextUpper = indexByteFrom(data, upper, at)
			}
		}
		at = min(nextLower, nextUpper)
		start := at - n.rare
		if start+len(n.text) > len(data) {
			break
		}
		if n.equalAt(data[start : start+len(n.text)]) {
			return start
		}
		at++
	}
	return len(data)
}

func (n needle) equalAt(data []byte) bool {
	for i, want := range n.text {
		if toLower(data[i]) != want {
			return false
		}
	}
	return true
}

func indexByteFrom(data []byte, b byte, from int) int {
	if i := bytes.IndexByte(data[from:], b); i >= 0 {
		return from + i
	}
	return len(data)
}

func toLower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

func toUpper(b byte) byte {
	if 'a' <= b && b <= 'z' {
		return b - ('a' - 'A')
	}
	return b
}

// scanner finds the next of several needles in one text.
type scanner struct {
	needles []needle
	next    []int // where each needle occurs next
}

func newScanner(needles []needle) *scanner {
	return &scanner{needles: needles, next: make([]int, len(needles))}
}

func (s *scanner) reset() {
	for i := range s.next {
		s.next[i] = -1
	}
}

// find returns the first occurrence of any needle at or after from, or len(data).
func (s *scanner) find(data []byte, from int) int {
	first := len(data)
	for i, n := range s.needles {
		if s.next[i] < from {
			s.next[i] = n.index(data, from)
		}
		first = min(first, s.next[i])
	}
	return first
}
