// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search

import "bytes"

// matcher finds the matching lines of texts. It reuses its automaton from one text to the next and is not safe for
// concurrent use.
type matcher struct {
	pattern   *Pattern
	scanner   *scanner
	automaton *automaton
	exotic    bool // some needle has a letter with a case outside ASCII
}

func newMatcher(p *Pattern) *matcher {
	m := &matcher{pattern: p, scanner: newScanner(p.needles), automaton: newAutomaton(p.prog)}
	for _, n := range p.needles {
		m.exotic = m.exotic || (n.fold && bytes.ContainsAny(n.text, "ks"))
	}
	return m
}

// lines calls yield with the bounds of each matching line, without the line break, until it returns false.
func (m *matcher) lines(data []byte, yield func(start, end int) bool) {
	find := m.byAutomaton
	switch {
	case len(m.pattern.needles) == 0 || (m.exotic && hasExoticCase(data)):
	case m.pattern.whole:
		find = m.byNeedle
	default:
		find = m.byNeedleAndAutomaton
	}
	m.scanner.reset()
	for from := 0; from < len(data); {
		at := find(data, from)
		if at > len(data) {
			return
		}
		start := bytes.LastIndexByte(data[from:at], '\n') + 1 + from
		end := indexByteFrom(data, '\n', at)
		if !yield(start, end) {
			return
		}
		from = end + 1
	}
}

// hasExoticCase reports whether text has the Kelvin sign or the long s, the only non-ASCII characters that fold to
// ASCII letters.
func hasExoticCase(data []byte) bool {
	return bytes.Contains(data, []byte("\u212a")) || bytes.Contains(data, []byte("\u017f"))
}

// Each of the following returns an offset in the first matching line at or after from, which is the start of a line,
// or len(data)+1 if there is none.

func (m *matcher) byAutomaton(data []byte, from int) int {
	return m.automaton.find(data, from)
}

func (m *matcher) byNeedle(data []byte, from int) int {
	if at := m.scanner.find(data, from); at < len(data) {
		return at
	}
	return len(data) + 1
}

func (m *matcher) byNeedleAndAutomaton(data []byte, from int) int {
	for from < len(data) {
		at := m.scanner.find(data, from)
		if at == len(data) {
			break
		}
		start := bytes.LastIndexByte(data[from:at], '\n') + 1 + from
		end := indexByteFrom(data, '\n', at)
		if m.automaton.find(data[start:end], 0) <= end-start {
			return at
		}
		from = end + 1
	}
	return len(data) + 1
}
