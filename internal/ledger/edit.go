// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
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

// span is a part of a request: size bytes of the previous request from an offset, or text.
type span struct {
	from, size int64
	text       []byte
}

// chain is a chain of requests: the first one, and the parts of each other one.
type chain struct {
	first []byte
	links [][]span
}

// spans returns the parts of the request that an edit makes of a request with so many bytes, and its size.
func (e Edit) spans(before int64) (spans []span, size int64, err error) {
	for _, p := range e {
		next := span{text: []byte(p.Text)}
		switch {
		case p.Values != nil:
			for _, value := range p.Values {
				next.text = append(append(next.text, ','), value...)
			}
		case p.From != 0 || p.To != 0:
			if p.From < 0 || p.To < p.From || p.To > before {
				return nil, 0, fmt.Errorf("%w: bytes %d to %d of %d", ErrBrokenChain, p.From, p.To, before)
			}
			next = span{from: p.From, size: p.To - p.From}
		}
		if next.text != nil {
			next.size = int64(len(next.text))
		}
		spans, size = append(spans, next), size+next.size
	}
	return spans, size, nil
}

// append appends the bytes of a request between two offsets. It follows only the parts that are needed back through the chain, so the last
// request of a conversation costs no more than the edits themselves.
func (c chain) append(out []byte, place int, from, to int64) []byte {
	if place == 0 {
		return append(out, c.first[from:to]...)
	}
	for _, s := range c.links[place-1] {
		begin, end := max(from, 0), min(to, s.size)
		switch {
		case begin >= end:
		case s.text != nil:
			out = append(out, s.text[begin:end]...)
		default:
			out = c.append(out, place-1, s.from+begin, s.from+end)
		}
		from, to = from-s.size, to-s.size
	}
	return out
}

// Rebuild returns the last request of a chain. The first request is complete, each other one is an edit of the previous one.
func Rebuild(requests []json.RawMessage) (json.RawMessage, error) {
	if len(requests) == 0 {
		return nil, fmt.Errorf("%w: the chain is empty", ErrBrokenChain)
	}
	whole, size := chain{first: requests[0]}, int64(len(requests[0]))
	for i, data := range requests[1:] {
		var edit Edit
		err := json.Unmarshal(data, &edit)
		if err != nil {
			return nil, fmt.Errorf("%w: link %d: %w", ErrBrokenChain, i+1, err)
		}
		var spans []span
		if spans, size, err = edit.spans(size); err != nil {
			return nil, err
		}
		whole.links = append(whole.links, spans)
	}
	return whole.append(make([]byte, 0, size), len(whole.links), 0, size), nil
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
