// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// automaton decides whether lines match, with one table lookup per byte. It is the deterministic automaton of the
// expression, whose states are sets of program counters. States are built lazily and dropped when there are too many.
//
// A state is a position between two characters. Whether "^", "$" and "\b" hold there depends on the next character,
// so a state has the counters from before such conditions, and the transition resolves them.
//
// An automaton is not safe for concurrent use.
type automaton struct {
	prog   *syntax.Prog
	states map[string]*state
	start  *state // at the beginning of a line
	match  *state

	// Scratch space of one transition.
	stack   []uint32
	visited []uint32 // visited[pc] == round: pc was visited in this transition
	round   uint32
	key     []byte
}

type state struct {
	pcs   []uint32
	prev  rune // class of the previous character: -1 (none), 'a' (word) or ' '
	ascii [utf8.RuneSelf]*state
	other map[rune]*state
}

const (
	maxStates = 2000
	lineEnd   = rune(-1)
)

func newAutomaton(prog *syntax.Prog) *automaton {
	a := &automaton{prog: prog, match: &state{}, visited: make([]uint32, len(prog.Inst))}
	a.reset()
	return a
}

func (a *automaton) reset() {
	a.states = map[string]*state{}
	a.start = a.intern([]uint32{uint32(a.prog.Start)}, lineEnd)
}

// find returns an offset in the first matching line at or after from, which is the start of a line, or len(data)+1 if
// no line matches.
func (a *automaton) find(data []byte, from int) int {
	s := a.start
	for i := from; i < len(data); {
		b := data[i]
		if b >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(data[i:])
			if s = a.next(s, r); s == a.match {
				return i
			}
			i += size
			continue
		}
		next := s.ascii[b]
		if next == nil {
			next = a.next(s, rune(b))
		}
		if next == a.match {
			return i
		}
		s = next
		i++
	}
	// A last line without a line break ends here; after a final line break there is no further line.
	if s != a.start && a.next(s, '\n') == a.match {
		return len(data)
	}
	return len(data) + 1
}

// next returns the state after a character, building it if it is new.
func (a *automaton) next(s *state, r rune) *state {
	if r < utf8.RuneSelf {
		if to := s.ascii[r]; to != nil {
			return to
		}
	} else if to := s.other[r]; to != nil {
		return to
	}
	to := a.step(s, r)
	if r < utf8.RuneSelf {
		s.ascii[r] = to
		return to
	}
	if s.other == nil {
		s.other = map[rune]*state{}
	}
	if len(s.other) < maxStates {
		s.other[r] = to
	}
	return to
}

func (a *automaton) step(s *state, r rune) *state {
	ends := r == '\n'
	following := r
	if ends {
		following = lineEnd
	}
	closed, matched := a.follow(s.pcs, syntax.EmptyOpContext(s.prev, following))
	if matched {
		return a.match
	}
	if ends {
		return a.start
	}
	var pcs []uint32
	for _, pc := range closed {
		if inst := &a.prog.Inst[pc]; inst.MatchRune(r) {
			pcs = append(pcs, inst.Out)
		}
	}
	// A match may also begin after this character.
	pcs = append(pcs, uint32(a.prog.Start))
	slices.Sort(pcs)
	prev := ' '
	if syntax.IsWordChar(r) {
		prev = 'a'
	}
	if len(a.states) >= maxStates {
		a.reset()
	}
	return a.intern(slices.Compact(pcs), prev)
}

// follow returns the reachable instructions that read a character, and reports whether the expression already
// matches.
func (a *automaton) follow(pcs []uint32, context syntax.EmptyOp) (reading []uint32, matched bool) {
	a.round++
	a.stack = append(a.stack[:0], pcs...)
	for len(a.stack) > 0 {
		pc := a.stack[len(a.stack)-1]
		a.stack = a.stack[:len(a.stack)-1]
		if a.visited[pc] == a.round {
			continue
		}
		a.visited[pc] = a.round
		inst := &a.prog.Inst[pc]
		switch inst.Op {
		case syntax.InstMatch:
			return nil, true
		case syntax.InstAlt, syntax.InstAltMatch:
			a.stack = append(a.stack, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			a.stack = append(a.stack, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^context == 0 {
				a.stack = append(a.stack, inst.Out)
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			reading = append(reading, pc)
		}
	}
	return reading, false
}

func (a *automaton) intern(pcs []uint32, prev rune) *state {
	a.key = binary.AppendVarint(a.key[:0], int64(prev))
	for _, pc := range pcs {
		a.key = binary.AppendUvarint(a.key, uint64(pc))
	}
	if s, ok := a.states[string(a.key)]; ok {
		return s
	}
	s := &state{pcs: pcs, prev: prev}
	a.states[string(a.key)] = s
	return s
}
