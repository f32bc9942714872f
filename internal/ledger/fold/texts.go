// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package fold

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"sync"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/internal/plainjson"
)

// shortest is the length from which a string is worth a reference, which takes about 30 bytes itself.
const shortest = 96

// Texts knows where the long strings of an agent's events are. The zero value knows none. It is safe for concurrent use.
type Texts struct {
	mu sync.RWMutex
	at map[digest]Ref
}

// digest identifies a string. It never leaves the process.
type digest [16]byte

func digestOf(token []byte) digest {
	sum := sha256.Sum256(token)
	return digest(sum[:16])
}

// Len is how many texts are known.
func (t *Texts) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.at)
}

// Keep adds what a draft has learned: its events are in the ledger.
func (t *Texts) Keep(d *Draft) {
	if len(d.more) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == nil {
		t.at = make(map[digest]Ref, len(d.more))
	}
	maps.Copy(t.at, d.more)
}

// Draft knows the texts of an agent and those of events that are about to be written.
type Draft struct {
	texts *Texts
	more  map[digest]Ref
}

// Draft returns a draft that knows these texts.
func (t *Texts) Draft() *Draft { return &Draft{texts: t} }

// Learn notes the long strings of an event.
func (d *Draft) Learn(seq int64, event []byte) {
	if len(event) < shortest {
		return
	}
	eachString(event, func(from, to int) {
		if to-from < shortest {
			return
		}
		sum := digestOf(event[from:to])
		if _, known := d.find(sum); known {
			return
		}
		if d.more == nil {
			d.more = map[digest]Ref{}
		}
		d.more[sum] = Ref{Seq: seq, Offset: int64(from), Length: int64(to - from)}
	})
}

func (d *Draft) find(sum digest) (Ref, bool) {
	if ref, ok := d.more[sum]; ok {
		return ref, true
	}
	d.texts.mu.RLock()
	defer d.texts.mu.RUnlock()
	ref, ok := d.texts.at[sum]
	return ref, ok
}

func (d *Draft) knowsNothing() bool { return len(d.more) == 0 && d.texts.Len() == 0 }

// Fold puts references in place of the strings of a JSON document that are known. It reports false if it left the document alone.
func (d *Draft) Fold(document []byte) ([]byte, bool) {
	if len(document) < shortest || d.knowsNothing() || bytes.Contains(document, refOpen) {
		return document, false
	}
	var folded []byte
	done := 0
	eachString(document, func(from, to int) {
		if to-from < shortest {
			return
		}
		ref, known := d.find(digestOf(document[from:to]))
		if !known {
			return
		}
		folded = ref.append(append(folded, document[done:from]...))
		done = to
	})
	if done == 0 {
		return document, false
	}
	return append(folded, document[done:]...), true
}

// Find returns where a text stands that is not JSON itself.
func (d *Draft) Find(text []byte) (Ref, bool) {
	if len(text) < shortest || d.knowsNothing() || !utf8.Valid(text) {
		return Ref{}, false
	}
	token, err := plainjson.Marshal(string(text))
	if err != nil {
		return Ref{}, false
	}
	return d.find(digestOf(token))
}

// eachString calls found with the bounds of each string of a document, quotes included. What is not JSON is looked at as far as it goes.
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
		found(from, to)
		from = to
	}
}

// endOfString is where the string that begins at from ends, or -1.
func endOfString(document []byte, from int) int {
	for at := from + 1; ; {
		next := bytes.IndexByte(document[at:], '"')
		if next < 0 {
			return -1
		}
		at += next
		escapes := 0
		for document[at-1-escapes] == '\\' {
			escapes++ // it ends at the opening quote at the latest
		}
		at++
		if escapes%2 == 0 {
			return at
		}
	}
}
