// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package fold

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/internal/plainjson"
)

// minLength is the minimum length of a string to be replaced; a reference takes about 30 bytes.
const minLength = 96

// Texts is an index of the long strings in an agent's events. The zero value is empty. It is safe for concurrent use.
type Texts struct {
	mu sync.RWMutex
	index
}

// index finds texts by digest. lengths are the lengths of the texts that start with the same bytes.
type index struct {
	at      map[digest]Ref
	lengths map[uint64][]int64
}

func (x *index) add(sum digest, prefix uint64, ref Ref) {
	if x.at == nil {
		x.at, x.lengths = map[digest]Ref{}, map[uint64][]int64{}
	}
	x.at[sum] = ref
	x.addLength(prefix, ref.Length)
}

func (x *index) addLength(prefix uint64, length int64) {
	if known := x.lengths[prefix]; len(known) < maxSamePrefix && !slices.Contains(known, length) {
		x.lengths[prefix] = append(known, length)
	}
}

// maxSamePrefix bounds the texts with the same beginning that are searched for inside strings.
const maxSamePrefix = 8

// digest identifies a string within the process.
type digest [16]byte

func digestOf(token []byte) digest { return digestOfContent(token[1 : len(token)-1]) }

func digestOfContent(content []byte) digest {
	sum := sha256.Sum256(content)
	return digest(sum[:16])
}

func (t *Texts) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.at)
}

// Commit adds the texts of a draft whose events were appended.
func (t *Texts) Commit(d *Draft) {
	if len(d.added.at) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == nil {
		t.index = d.added
		return
	}
	maps.Copy(t.at, d.added.at)
	for prefix, lengths := range d.added.lengths {
		for _, length := range lengths {
			t.addLength(prefix, length)
		}
	}
}

// Draft is an index of the texts of an agent and of events that are about to be appended.
type Draft struct {
	texts *Texts
	added index
	// hashed counts the bytes that were hashed to search inside strings.
	hashed int
}

func (t *Texts) Draft() *Draft { return &Draft{texts: t} }

// Index adds the long strings of an event.
func (d *Draft) Index(seq int64, event []byte) {
	if len(event) < minLength {
		return
	}
	eachString(event, func(from, to int) {
		if to-from < minLength {
			return
		}
		sum := digestOf(event[from:to])
		if _, known := d.find(sum); known {
			return
		}
		d.added.add(sum, hashOf(event[from+1:from+1+window]), Ref{Seq: seq, Offset: int64(from), Length: int64(to - from)})
	})
}

func (d *Draft) find(sum digest) (Ref, bool) {
	if ref, ok := d.added.at[sum]; ok {
		return ref, true
	}
	d.texts.mu.RLock()
	defer d.texts.mu.RUnlock()
	ref, ok := d.texts.at[sum]
	return ref, ok
}

func (d *Draft) isEmpty() bool { return len(d.added.at) == 0 && d.texts.Len() == 0 }

// Fold replaces known strings of a JSON document by references. It reports false if it changed nothing.
func (d *Draft) Fold(document []byte) ([]byte, bool) {
	if len(document) < minLength || d.isEmpty() || bytes.Contains(document, anyRef) {
		return document, false
	}
	var folded []byte
	done := 0
	eachString(document, func(from, to int) {
		if to-from < minLength {
			return
		}
		if ref, known := d.find(digestOf(document[from:to])); known {
			folded = ref.append(append(folded, document[done:from]...))
			done = to
			return
		}
		if pieces, ok := d.foldInside(document[from:to]); ok {
			folded = append(append(folded, document[done:from]...), pieces...)
			done = to
		}
	})
	if done == 0 {
		return document, false
	}
	return append(folded, document[done:]...), true
}

// Find returns the location of text that is not JSON itself.
func (d *Draft) Find(text []byte) (Ref, bool) {
	if len(text) < minLength || d.isEmpty() || !utf8.Valid(text) {
		return Ref{}, false
	}
	token, err := plainjson.Marshal(string(text))
	if err != nil {
		return Ref{}, false
	}
	return d.find(digestOf(token))
}

// eachString calls found with the bounds, including quotes, of each string value of a document. It skips field names, which
// cannot be replaced. A document that is not valid JSON is read as far as possible.
func eachString(document []byte, found func(from, to int)) {
	for from := 0; from < len(document); {
		next := bytes.IndexByte(document[from:], '"')
		if next < 0 {
			return
		}
		from += next
		to := endOfString(document, from)
		if to < 0 {
			return
		}
		if !isFieldName(document[to:]) {
			found(from, to)
		}
		from = to
	}
}

// isFieldName reports whether the text after a string makes it a field name.
func isFieldName(rest []byte) bool {
	for _, b := range rest {
		switch b {
		case ' ', '\t', '\n', '\r':
			continue
		}
		return b == ':'
	}
	return false
}

// endOfString returns the offset at which the string that starts at from ends, or -1.
func endOfString(document []byte, from int) int {
	for at := from + 1; ; {
		next := bytes.IndexByte(document[at:], '"')
		if next < 0 {
			return -1
		}
		at += next
		escapes := 0
		for document[at-1-escapes] == '\\' {
			escapes++ // the loop ends at the opening quote at the latest
		}
		at++
		if escapes%2 == 0 {
			return at
		}
	}
}
