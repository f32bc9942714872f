// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxProgram bounds the compiled size of an expression, and so the time of a single matching step.
const maxProgram = 20_000

// Pattern is a compiled expression that is matched line by line.
type Pattern struct {
	prog    *syntax.Prog
	needles []needle
	// whole is true if the expression consists of its needle, so that finding the needle is a match.
	whole bool
}

// CompilePattern compiles a regular expression in Go's (RE2) syntax, or plain text if literal is set.
func CompilePattern(text string, literal, ignoreCase bool) (*Pattern, error) {
	if text == "" {
		return nil, errors.New("pattern is empty")
	}
	if strings.Contains(text, "\n") {
		return nil, errors.New("pattern contains a line break, but lines are matched one by one; search for one line of it")
	}
	flags := syntax.Perl
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	if literal {
		flags |= syntax.Literal
	}
	re, err := syntax.Parse(text, flags)
	if err != nil {
		return nil, fmt.Errorf(
			"pattern is not a valid regular expression (Go/RE2 syntax; set literal to search for plain text): %w", err)
	}
	re = re.Simplify()
	prog, err := syntax.Compile(re)
	if err != nil {
		return nil, fmt.Errorf("compile pattern: %w", err)
	}
	if len(prog.Inst) > maxProgram {
		return nil, errors.New("pattern is too large; use smaller repeat counts")
	}
	p := &Pattern{prog: prog, needles: requiredNeedles(re)}
	p.whole = re.Op == syntax.OpLiteral && len(p.needles) == 1 && p.needles[0].len() == len(string(re.Rune))
	return p, nil
}

// maxNeedles is the maximum number of needles, which are searched one by one.
const maxNeedles = 8

// requiredNeedles returns a set of needles, or nil if none are worth searching for. Every match contains at least one
// of them.
func requiredNeedles(re *syntax.Regexp) []needle {
	switch re.Op {
	case syntax.OpLiteral:
		return literalNeedle(re)
	case syntax.OpCapture, syntax.OpPlus:
		return requiredNeedles(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min == 0 {
			return nil
		}
		return requiredNeedles(re.Sub[0])
	case syntax.OpConcat:
		var best []needle
		for _, sub := range re.Sub {
			if needles := requiredNeedles(sub); better(needles, best) {
				best = needles
			}
		}
		return best
	case syntax.OpAlternate:
		var all []needle
		for _, sub := range re.Sub {
			needles := requiredNeedles(sub)
			if needles == nil {
				return nil
			}
			all = append(all, needles...)
		}
		if len(all) > maxNeedles {
			return nil
		}
		return all
	default:
		return nil
	}
}

// literalNeedle returns a literal or, if it ignores case, its longest ASCII part, because only that is compared byte
// by byte.
func literalNeedle(re *syntax.Regexp) []needle {
	text := string(re.Rune)
	fold := re.Flags&syntax.FoldCase != 0
	if fold {
		text = longestASCII(text)
	}
	// The replacement character also matches invalid bytes.
	if len(text) < 2 || strings.ContainsRune(text, utf8.RuneError) {
		return nil
	}
	return []needle{newNeedle(text, fold)}
}

func longestASCII(text string) string {
	longest := ""
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r >= 0x80 }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// better reports whether a is the better set: its shortest needle is longer or, at the same length, it is smaller.
func better(a, b []needle) bool {
	if a == nil || b == nil {
		return a != nil
	}
	if shortA, shortB := shortest(a), shortest(b); shortA != shortB {
		return shortA > shortB
	}
	return len(a) < len(b)
}

func shortest(needles []needle) int {
	n := needles[0].len()
	for _, other := range needles[1:] {
		n = min(n, other.len())
	}
	return n
}
