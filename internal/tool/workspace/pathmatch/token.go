// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pathmatch

import "strings"

// tokenize splits a component pattern into tokens; it fails on an unclosed set
// and on a backslash with nothing after it.
func tokenize(pattern string) ([]token, bool) {
	tokens := make([]token, 0, len(pattern))
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			if n := len(tokens); n > 0 && tokens[n-1].kind == tokenStar {
				continue
			}
			tokens = append(tokens, token{kind: tokenStar})
		case '?':
			tokens = append(tokens, token{kind: tokenAny})
		case '\\':
			i++
			if i == len(pattern) {
				return nil, false
			}
			tokens = append(tokens, token{kind: tokenByte, b: pattern[i]})
		case '[':
			set, end, ok := parseSet(pattern, i)
			if !ok {
				return nil, false
			}
			tokens = append(tokens, token{kind: tokenSet, set: set})
			i = end
		default:
			tokens = append(tokens, token{kind: tokenByte, b: c})
		}
	}
	return tokens, true
}

// parseSet parses the set that opens at pattern[start] and returns the index of
// its closing bracket.
func parseSet(pattern string, start int) (set *byteSet, end int, ok bool) {
	set = &byteSet{}
	i := start + 1
	negated := false
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		negated = true
		i++
	}
	for first := true; ; first = false {
		if i >= len(pattern) {
			return nil, 0, false
		}
		if pattern[i] == ']' && !first {
			break
		}
		if class, next, isClass, ok := parseClass(pattern, i); isClass {
			if !ok {
				return nil, 0, false
			}
			for b := range 256 {
				if class(byte(b)) {
					set.add(byte(b))
				}
			}
			i = next
			continue
		}
		low, next, ok := setByte(pattern, i)
		if !ok {
			return nil, 0, false
		}
		i = next
		high := low
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			high, i, ok = setByte(pattern, i+1)
			if !ok {
				return nil, 0, false
			}
		}
		// Git matches the lower end even of a range that runs backwards.
		set.add(low)
		for b := int(low); b <= int(high); b++ {
			set.add(byte(b))
		}
	}
	if negated {
		for i := range set {
			set[i] = ^set[i]
		}
	}
	// No set matches the separator, not even a negated one.
	set['/'>>6] &^= 1 << ('/' & 63)
	return set, i, true
}

func setByte(pattern string, i int) (b byte, next int, ok bool) {
	if pattern[i] == '\\' {
		i++
		if i >= len(pattern) {
			return 0, 0, false
		}
	}
	return pattern[i], i + 1, true
}

// parseClass parses a named class such as [:digit:] inside a set.
func parseClass(pattern string, i int) (class func(byte) bool, next int, isClass, ok bool) {
	if !strings.HasPrefix(pattern[i:], "[:") {
		return nil, 0, false, false
	}
	closing := strings.IndexByte(pattern[i+2:], ']')
	if closing < 0 {
		return nil, 0, true, false
	}
	body := pattern[i+2 : i+2+closing]
	if !strings.HasSuffix(body, ":") {
		// Not a class after all: the bracket is an ordinary member of the set.
		return nil, 0, false, false
	}
	class, ok = classes()[strings.TrimSuffix(body, ":")]
	return class, i + 2 + closing + 1, true, ok
}

func classes() map[string]func(byte) bool {
	between := func(low, high byte) func(byte) bool {
		return func(b byte) bool { return low <= b && b <= high }
	}
	upper, lower, digit := between('A', 'Z'), between('a', 'z'), between('0', '9')
	alpha := func(b byte) bool { return upper(b) || lower(b) }
	alnum := func(b byte) bool { return alpha(b) || digit(b) }
	graph := between('!', '~')
	return map[string]func(byte) bool{
		"upper": upper, "lower": lower, "digit": digit, "alpha": alpha, "alnum": alnum, "graph": graph,
		"print":  between(' ', '~'),
		"punct":  func(b byte) bool { return graph(b) && !alnum(b) },
		"blank":  func(b byte) bool { return b == ' ' || b == '\t' },
		"space":  func(b byte) bool { return b == ' ' || ('\t' <= b && b <= '\r') },
		"cntrl":  func(b byte) bool { return b < ' ' || b == 127 },
		"xdigit": func(b byte) bool { return digit(b) || between('a', 'f')(b) || between('A', 'F')(b) },
	}
}
