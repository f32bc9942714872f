// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package calc

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind int

const (
	end kind = iota
	number
	name
	symbol
)

// token is a token of the expression. Its text is always set.
type token struct {
	kind kind
	text string
	at   int // in characters, from 1
	rat  *big.Rat
}

type lexer struct {
	text  string
	at    int // in characters
	token token
}

// symbols maps variants of operators to their canonical form.
var symbols = map[rune]string{
	'+': "+", '-': "-", '*': "*", '/': "/", '%': "%", '^': "^", '(': "(", ')': ")", ',': ",",
	'−': "-", '–': "-", '×': "*", '·': "*", '÷': "/",
}

func (l *lexer) next() error {
	l.take(unicode.IsSpace)
	l.token = token{at: l.at + 1}
	if l.text == "" {
		l.token.text = "the end"
		return nil
	}
	r, size := utf8.DecodeRuneInString(l.text)
	switch {
	case isDigit(r) || r == '.':
		return l.number()
	case unicode.IsLetter(r):
		l.token.kind = name
		l.token.text = l.take(func(r rune) bool { return unicode.IsLetter(r) || isDigit(r) || r == '_' })
		return nil
	}
	text, ok := symbols[r]
	if !ok {
		return fmt.Errorf("character %d: %q does not belong in arithmetic", l.token.at, r)
	}
	l.token.kind, l.token.text = symbol, text
	l.text, l.at = l.text[size:], l.at+1
	if rest, double := strings.CutPrefix(l.text, "*"); double && r == '*' {
		l.token.text, l.text, l.at = "^", rest, l.at+1
	}
	return nil
}

// number reads digits with an optional fraction and exponent. Underscores may group digits; commas may not, because
// they separate arguments.
func (l *lexer) number() error {
	digits := func(r rune) bool { return isDigit(r) || r == '_' }
	text := l.take(digits)
	if strings.HasPrefix(l.text, ".") {
		text += l.take(func(r rune) bool { return r == '.' }) + l.take(digits)
	}
	exponent := 0
	if mark := exponentMark(l.text); mark != "" {
		l.text, l.at = l.text[len(mark):], l.at+len(mark)
		written := l.take(isDigit)
		text += mark + written
		n, err := strconv.Atoi(strings.TrimLeft(mark[1:], "+") + written)
		if err != nil || n > maxBits/4 || n < -maxBits/4 {
			return fmt.Errorf("character %d: the number %s is too large or too small", l.token.at, text)
		}
		exponent = n
	}
	mantissa, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(text), "_", ""), "e")
	rat, ok := new(big.Rat).SetString(mantissa)
	if !ok {
		return fmt.Errorf("character %d: %q is not a number", l.token.at, text)
	}
	l.token.kind, l.token.text, l.token.rat = number, text, scale(rat, exponent)
	return nil
}

// exponentMark returns the "e", "e+" or "e-" that begins text if digits follow.
func exponentMark(text string) string {
	if text == "" || text[0] != 'e' && text[0] != 'E' {
		return ""
	}
	mark := text[:1]
	if len(text) > 1 && (text[1] == '+' || text[1] == '-') {
		mark = text[:2]
	}
	if len(text) > len(mark) && isDigit(rune(text[len(mark)])) {
		return mark
	}
	return ""
}

// take removes and returns the longest prefix of matching characters.
func (l *lexer) take(matches func(rune) bool) string {
	size := strings.IndexFunc(l.text, func(r rune) bool { return !matches(r) })
	if size < 0 {
		size = len(l.text)
	}
	taken := l.text[:size]
	l.text, l.at = l.text[size:], l.at+utf8.RuneCountInString(taken)
	return taken
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }
