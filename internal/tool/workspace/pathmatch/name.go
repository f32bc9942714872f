// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pathmatch

import "strings"

// Name is a compiled pattern for a single path component.
type Name struct {
	kind   kind
	text   string // of literal, prefix and suffix
	tokens []token
}

type kind uint8

const (
	general kind = iota
	literal      // text
	prefix       // text*
	suffix       // *text
	never        // a malformed pattern, which git never matches
)

type tokenKind uint8

const (
	tokenByte tokenKind = iota
	tokenAny
	tokenStar
	tokenSet
)

type token struct {
	kind tokenKind
	b    byte
	set  *byteSet
}

type byteSet [4]uint64

func (s *byteSet) add(b byte)      { s[b>>6] |= 1 << (b & 63) }
func (s *byteSet) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }

// CompileName compiles a pattern for one component. A malformed pattern matches
// nothing, as in git.
func CompileName(pattern string) Name {
	tokens, ok := tokenize(pattern)
	if !ok {
		return Name{kind: never}
	}
	return classify(tokens)
}

// classify recognises the common forms of patterns that need no general matching.
func classify(tokens []token) Name {
	stars, plain := 0, true
	var text strings.Builder
	for _, t := range tokens {
		switch t.kind {
		case tokenByte:
			text.WriteByte(t.b)
		case tokenStar:
			stars++
		default:
			plain = false
		}
	}
	if !plain || stars > 1 {
		return Name{kind: general, tokens: tokens}
	}
	switch {
	case stars == 0:
		return Name{kind: literal, text: text.String()}
	case tokens[0].kind == tokenStar:
		return Name{kind: suffix, text: text.String()}
	case tokens[len(tokens)-1].kind == tokenStar:
		return Name{kind: prefix, text: text.String()}
	}
	return Name{kind: general, tokens: tokens}
}

// Literal returns the only name that the pattern matches, if there is exactly one.
func (n Name) Literal() (string, bool) { return n.text, n.kind == literal }

func (n Name) Match(name string) bool {
	switch n.kind {
	case literal:
		return name == n.text
	case prefix:
		return strings.HasPrefix(name, n.text)
	case suffix:
		return strings.HasSuffix(name, n.text)
	case never:
		return false
	}
	return matchTokens(n.tokens, name)
}

// matchTokens backtracks only to the latest star: whatever an earlier star could match instead, the latest one can
// match too.
func matchTokens(tokens []token, name string) bool {
	i, t := 0, 0
	star, resume := -1, 0
	for i < len(name) {
		if t < len(tokens) && tokens[t].kind == tokenStar {
			star, resume = t, i
			t++
			continue
		}
		if t < len(tokens) && tokens[t].matches(name[i]) {
			t++
			i++
			continue
		}
		if star < 0 {
			return false
		}
		resume++
		t, i = star+1, resume
	}
	for t < len(tokens) && tokens[t].kind == tokenStar {
		t++
	}
	return t == len(tokens)
}

func (t token) matches(b byte) bool {
	switch t.kind {
	case tokenByte:
		return t.b == b
	case tokenSet:
		return t.set.has(b)
	default:
		return true
	}
}
