// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tokens

import "unicode/utf8"

// class is a class of characters. Tokenizers split text where it changes.
type class uint8

const (
	none class = iota
	lower
	upper
	digit
	space
	newline
	punctuation
	wide // a byte of a non-ASCII character
)

var classes = func() (table [256]class) {
	for b := range table {
		switch {
		case b >= utf8.RuneSelf:
			table[b] = wide
		case b >= 'a' && b <= 'z':
			table[b] = lower
		case b >= 'A' && b <= 'Z':
			table[b] = upper
		case b >= '0' && b <= '9':
			table[b] = digit
		case b == ' ' || b == '\t':
			table[b] = space
		case b == '\n' || b == '\r':
			table[b] = newline
		default:
			table[b] = punctuation
		}
	}
	return table
}()

// isLatin reports whether a non-ASCII character is a Latin letter.
func isLatin(r rune) bool { return r >= 0xC0 && r < 0x250 }

// scripts are blocks of characters, in order, with the cost of one character. Blocks that are not listed cost otherCost.
var scripts = []struct {
	end  rune
	cost int64
}{
	{0xC0, 100},   // Latin-1 signs
	{0x100, 60},   // Latin-1 letters
	{0x250, 125},  // extended Latin
	{0x370, 150},  // phonetic letters, combining marks
	{0x400, 110},  // Greek
	{0x530, 58},   // Cyrillic
	{0x600, 115},  // Armenian, Hebrew
	{0x700, 90},   // Arabic
	{0x900, 150},  // Syriac and others
	{0xE00, 140},  // scripts of India
	{0xE80, 115},  // Thai
	{0x2000, 200}, // scripts with few texts
	{0x2600, 120}, // punctuation, arrows, box drawing
	{0x3000, 160}, // symbols
	{0x3100, 100}, // CJK punctuation, kana
	{0xA000, 140}, // Han
	{0xAC00, 200}, // scripts with few texts
	{0xD7B0, 150}, // Hangul
	{0xFF00, 200}, // private use, presentation forms
	{0x10000, 110},
}

// otherCost is the cost of emoji and everything beyond the basic plane.
const otherCost = 300

func wideCost(r rune) int64 {
	for _, block := range scripts {
		if r < block.end {
			return block.cost
		}
	}
	return otherCost
}
