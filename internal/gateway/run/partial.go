// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// partialResult reads the result from the arguments of submit_result while a model writes them.
type partialResult struct {
	text strings.Builder
	// start is the index of the first byte of the result that is not decoded yet, or 0 before the result begins.
	start int
	ended bool
	// decoded is the result so far.
	decoded strings.Builder
}

// add adds a piece of the arguments, and returns the result up to the last complete character.
func (p *partialResult) add(piece string) string {
	p.text.WriteString(piece)
	text := p.text.String()
	if p.start == 0 {
		p.start = findResult(text)
	}
	if p.start == 0 {
		return ""
	}
	if !p.ended {
		p.decode(text[p.start:])
	}
	return p.decoded.String()
}

// decode decodes a part of the value that begins with a whole character, as far as it is complete.
func (p *partialResult) decode(value string) {
	end := closingQuote(value)
	p.ended = end >= 0
	if end < 0 {
		end = completePrefix(value)
	}
	var decoded string
	if json.Unmarshal([]byte(`"`+value[:end]+`"`), &decoded) != nil {
		p.ended = true // it is not JSON: the recorded result is delivered instead
		return
	}
	p.start += end
	p.decoded.WriteString(decoded)
}

// findResult returns the index after the quote that opens the value of the field "result", or 0. Only a field of the
// outermost object counts.
func findResult(text string) int {
	decoder := json.NewDecoder(strings.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return 0
	}
	for {
		key, err := decoder.Token()
		if err != nil {
			return 0
		}
		if key == "result" {
			value, isString := strings.CutPrefix(strings.TrimLeft(text[decoder.InputOffset():], " \t\r\n:"), `"`)
			if !isString {
				return 0
			}
			return len(text) - len(value)
		}
		var skipped json.RawMessage
		if decoder.Decode(&skipped) != nil {
			return 0
		}
	}
}

// closingQuote returns the index of the quote that ends a JSON string, or -1.
func closingQuote(value string) int {
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// completePrefix returns the length of the longest beginning of a JSON string that has no incomplete escape,
// surrogate pair or character.
func completePrefix(value string) int {
	complete := 0
	for i := 0; i < len(value); {
		switch {
		case value[i] != '\\':
			if !utf8.FullRuneInString(value[i:]) {
				return complete
			}
			_, size := utf8.DecodeRuneInString(value[i:])
			i += size
		case i+1 >= len(value):
			return complete
		case value[i+1] != 'u':
			i += 2
		case i+6 > len(value):
			return complete
		case isHighSurrogate(value[i+2 : i+6]):
			next := value[i+6:]
			if len(next) < len(`\u0000`) && (strings.HasPrefix(`\u`, next) || strings.HasPrefix(next, `\u`)) {
				return complete // the second half may follow
			}
			i += 6
			if strings.HasPrefix(next, `\u`) && isLowSurrogate(next[2:6]) {
				i += 6
			}
		default:
			i += 6
		}
		complete = i
	}
	return complete
}

// isHighSurrogate reports whether four hexadecimal digits are the first half of a pair.
func isHighSurrogate(digits string) bool {
	return strings.ContainsRune("dD", rune(digits[0])) && strings.ContainsRune("89abAB", rune(digits[1]))
}

// isLowSurrogate reports whether four hexadecimal digits are the second half of a pair.
func isLowSurrogate(digits string) bool {
	return strings.ContainsRune("dD", rune(digits[0])) && strings.ContainsRune("cdefCDEF", rune(digits[1]))
}
