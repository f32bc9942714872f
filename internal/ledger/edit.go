// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// Edit describes a request as a list of pieces of the previous request in its chain and new pieces. A conversation grows by a few
// messages at a time, so edits are small however long the request is.
type Edit []Piece

// ChainRestTime is the minimum age of the newest request of a chain before the chain may be deleted: until then the next request
// may be an edit of it. ChainMaxAge is the maximum age of a request that the next one may edit.
const (
	ChainRestTime = 2 * time.Hour
	ChainMaxAge   = time.Hour
)

// Piece is a part of a request: bytes of the previous request, text, or values that are added to a list.
type Piece struct {
	// From and To bound the bytes of the previous request; both are 0 for other pieces.
	From, To int64
	// Text is inserted unchanged.
	Text string
	// Values are inserted, each with a comma before it.
	Values []json.RawMessage
}

// Encode encodes the edit as a JSON list: bytes of the previous request as [from,to], text as a string, and values as
// {"add":[...]}.
func (e Edit) Encode() json.RawMessage {
	out := []byte{'['}
	for i, p := range e {
		if i > 0 {
			out = append(out, ',')
		}
		out = p.append(out)
	}
	return append(out, ']')
}

func (p Piece) append(out []byte) []byte {
	switch {
	case p.Values != nil:
		out = append(out, `{"add":[`...)
		for i, value := range p.Values {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, value...)
		}
		return append(out, "]}"...)
	case p.To > 0:
		out = strconv.AppendInt(append(out, '['), p.From, 10)
		out = strconv.AppendInt(append(out, ','), p.To, 10)
		return append(out, ']')
	}
	text, _ := json.Marshal(p.Text) // Encoding a string cannot fail.
	return append(out, text...)
}

// UnmarshalJSON decodes a piece of an edit.
func (p *Piece) UnmarshalJSON(data []byte) error {
	*p = Piece{}
	switch {
	case len(data) == 0:
	case data[0] == '[':
		var bounds [2]int64
		if err := json.Unmarshal(data, &bounds); err != nil {
			return err
		}
		p.From, p.To = bounds[0], bounds[1]
		return nil
	case data[0] == '{':
		var values struct {
			Add []json.RawMessage `json:"add"`
		}
		if err := json.Unmarshal(data, &values); err != nil {
			return err
		}
		p.Values = values.Add
		return nil
	}
	return json.Unmarshal(data, &p.Text)
}

// ErrBrokenChain means that a request cannot be rebuilt from the previous ones.
var ErrBrokenChain = errors.New("the request does not follow from the one before it")

// document is a request as a list of parts, so that an edit copies no bytes.
type document [][]byte

// slice returns the document between two offsets.
func (d document) slice(from, to int64) (document, error) {
	if from < 0 || to < from {
		return nil, fmt.Errorf("%w: bytes %d to %d", ErrBrokenChain, from, to)
	}
	var slice document
	at := int64(0)
	for _, part := range d {
		end := at + int64(len(part))
		if end > from && at < to {
			slice = append(slice, part[max(from-at, 0):min(to, end)-at])
		}
		at = end
	}
	if to > at {
		return nil, fmt.Errorf("%w: bytes %d to %d of %d", ErrBrokenChain, from, to, at)
	}
	return slice, nil
}

func (d document) edit(edit Edit) (document, error) {
	var next document
	for _, p := range edit {
		switch {
		case p.Values != nil:
			for _, value := range p.Values {
				next = append(next, []byte(","), value)
			}
		case p.To > 0:
			kept, err := d.slice(p.From, p.To)
			if err != nil {
				return nil, err
			}
			next = append(next, kept...)
		default:
			next = append(next, []byte(p.Text))
		}
	}
	return next, nil
}

// Rebuild returns the last request of a chain. The first request is complete, each other one is an edit of the previous one.
func Rebuild(chain []json.RawMessage) (json.RawMessage, error) {
	if len(chain) == 0 {
		return nil, fmt.Errorf("%w: the chain is empty", ErrBrokenChain)
	}
	whole := document{chain[0]}
	for place, data := range chain[1:] {
		var edit Edit
		if err := json.Unmarshal(data, &edit); err != nil {
			return nil, fmt.Errorf("%w: link %d: %w", ErrBrokenChain, place+1, err)
		}
		var err error
		if whole, err = whole.edit(edit); err != nil {
			return nil, err
		}
	}
	return bytes.Join(whole, nil), nil
}

// CommonPrefix returns the length of the common prefix of a and b in bytes. It does not split a character of b.
func CommonPrefix(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}
