// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package fold

const (
	// window is the number of bytes at the beginning of text that must match before it is compared.
	window = 64
	// minSearched is the minimum length of a string that is searched for texts.
	minSearched = 512
	// maxHashFactor bounds the search, in multiples of the string's length: many texts may start with the same bytes.
	maxHashFactor = 8
	// hashBase is the base of the polynomial rolling hash.
	hashBase = 0x9E3779B97F4A7C15
)

var leavingFactor = func() uint64 {
	power := uint64(1)
	for range window - 1 {
		power *= hashBase
	}
	return power
}()

func hashOf(bytes []byte) (hash uint64) {
	for _, b := range bytes {
		hash = hash*hashBase + uint64(b)
	}
	return hash
}

// foldInside finds known texts inside a string, such as a prompt that quotes the conversation. It returns the string in pieces,
// and false if it found none.
func (d *Draft) foldInside(token []byte) ([]byte, bool) {
	if len(token) < minSearched {
		return nil, false
	}
	d.texts.mu.RLock()
	defer d.texts.mu.RUnlock()
	content := token[1 : len(token)-1]
	limit := d.hashed + maxHashFactor*len(content)
	var pieces []byte
	done := 0
	for at, hash := 0, uint64(0); at+window <= len(content) && d.hashed < limit; {
		if at == done {
			hash = hashOf(content[at : at+window])
		}
		if ref, ok := d.textAt(content, at, hash); ok {
			pieces = ref.appendPiece(appendText(pieces, content[done:at]))
			at += int(ref.Length) - 2
			done = at
			continue
		}
		if at+window < len(content) {
			hash = (hash-uint64(content[at])*leavingFactor)*hashBase + uint64(content[at+window])
		}
		at++
	}
	if pieces == nil {
		return nil, false
	}
	pieces = appendText(pieces, content[done:])
	return append(pieces, refClose...), true
}

func appendText(pieces, text []byte) []byte {
	if pieces == nil {
		pieces = append(pieces, partsOpen...)
	} else if len(text) > 0 {
		pieces = append(pieces, ',')
	}
	if len(text) == 0 {
		return pieces
	}
	pieces = append(append(pieces, '"'), text...)
	return append(pieces, '"')
}

func (r Ref) appendPiece(pieces []byte) []byte {
	if last := pieces[len(pieces)-1]; last == '"' || last == ']' {
		pieces = append(pieces, ',')
	}
	return append(r.appendNumbers(append(pieces, '[')), ']')
}

// textAt finds the longest known text at an offset of a string.
func (d *Draft) textAt(content []byte, at int, hash uint64) (found Ref, ok bool) {
	for _, x := range []*index{&d.added, &d.texts.index} {
		for _, length := range x.lengths[hash] {
			end := at + int(length) - 2
			if length <= found.Length || end > len(content) || insideEscape(content, at) {
				continue
			}
			d.hashed += end - at
			if ref, known := x.at[digestOfContent(content[at:end])]; known {
				found, ok = ref, true
			}
		}
	}
	return found, ok
}

// insideEscape reports whether an offset is in the middle of an escape such as \n or \u2028.
func insideEscape(content []byte, at int) bool {
	for from := max(0, at-5); from < at; from++ {
		if content[from] != '\\' || !startsEscape(content, from) {
			continue
		}
		size := len(`\n`)
		if content[from+1] == 'u' {
			size = len(`\u2028`)
		}
		if at < from+size {
			return true
		}
	}
	return false
}

// startsEscape reports whether a backslash is not itself escaped.
func startsEscape(content []byte, at int) bool {
	before := 0
	for at-1-before >= 0 && content[at-1-before] == '\\' {
		before++
	}
	return before%2 == 0
}
