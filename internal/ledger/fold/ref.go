// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package fold

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Ref locates a JSON string: the event of the agent, the offset in its data, and the length including quotes.
type Ref struct{ Seq, Offset, Length int64 }

// A reference is written as {"$text":[seq,offset,length]}. A JSON string cannot contain these bytes, because its quotes are
// escaped, so they are always an object.
//
// A string that contains known texts is written as {"$texts":["some text",[seq,offset,length],...]}: its pieces in order.
var (
	refOpen   = []byte(`{"$text":[`)
	partsOpen = []byte(`{"$texts":[`)
	anyRef    = []byte(`{"$text`)
	refClose  = []byte(`]}`)
)

// ErrDamaged means that a reference in a document does not resolve.
var ErrDamaged = errors.New("a reference to an event does not resolve")

func (r Ref) append(to []byte) []byte {
	return append(r.appendNumbers(append(to, refOpen...)), refClose...)
}

func (r Ref) appendNumbers(to []byte) []byte {
	to = strconv.AppendInt(to, r.Seq, 10)
	to = strconv.AppendInt(append(to, ','), r.Offset, 10)
	return strconv.AppendInt(append(to, ','), r.Length, 10)
}

// String returns the form in which a column refers to one text.
func (r Ref) String() string { return string(r.appendNumbers(nil)) }

func ParseRef(text string) (Ref, error) { return parseRef([]byte(text)) }

func parseRef(numbers []byte) (Ref, error) {
	var r Ref
	parts := bytes.Split(numbers, []byte(","))
	if len(parts) != 3 {
		return r, fmt.Errorf("%w: %q", ErrDamaged, numbers)
	}
	for i, field := range []*int64{&r.Seq, &r.Offset, &r.Length} {
		n, err := strconv.ParseInt(string(parts[i]), 10, 64)
		if err != nil || n < 0 {
			return r, fmt.Errorf("%w: %q", ErrDamaged, numbers)
		}
		*field = n
	}
	return r, nil
}

// Events returns the data of an event of the agent that owns the document.
type Events func(seq int64) ([]byte, error)

// Token returns the referenced string, with its quotes.
func (r Ref) Token(events Events) ([]byte, error) {
	data, err := events(r.Seq)
	if err != nil {
		return nil, err
	}
	size := int64(len(data))
	if r.Length < 2 || r.Offset > size || r.Length > size-r.Offset || data[r.Offset] != '"' || data[r.Offset+r.Length-1] != '"' {
		return nil, fmt.Errorf("%w: event %d has no text of %d bytes at %d", ErrDamaged, r.Seq, r.Length, r.Offset)
	}
	return data[r.Offset : r.Offset+r.Length], nil
}

func Unfold(document []byte, events Events) ([]byte, error) {
	at := bytes.Index(document, anyRef)
	if at < 0 {
		return document, nil
	}
	var whole []byte
	for ; at >= 0; at = bytes.Index(document, anyRef) {
		whole = append(whole, document[:at]...)
		document = document[at:]
		var err error
		if bytes.HasPrefix(document, partsOpen) {
			whole, document, err = unfoldParts(whole, document[len(partsOpen):], events)
		} else {
			whole, document, err = unfoldOne(whole, document, events)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(whole, document...), nil
}

// unfoldOne appends the text that the document starts with, and returns what follows.
func unfoldOne(whole, document []byte, events Events) (more, rest []byte, err error) {
	end := bytes.Index(document, refClose)
	if !bytes.HasPrefix(document, refOpen) || end < 0 {
		return nil, nil, fmt.Errorf("%w: it does not end", ErrDamaged)
	}
	ref, err := parseRef(document[len(refOpen):end])
	if err != nil {
		return nil, nil, err
	}
	token, err := ref.Token(events)
	return append(whole, token...), document[end+len(refClose):], err
}

// unfoldParts appends the string whose pieces the document starts with, and returns what follows.
func unfoldParts(whole, document []byte, events Events) (more, rest []byte, err error) {
	whole = append(whole, '"')
	for len(document) > 0 {
		switch document[0] {
		case '"':
			end := endOfString(document, 0)
			if end < 0 {
				return nil, nil, fmt.Errorf("%w: a piece does not end", ErrDamaged)
			}
			whole, document = append(whole, document[1:end-1]...), document[end:]
		case '[':
			end := bytes.IndexByte(document, ']')
			if end < 0 {
				return nil, nil, fmt.Errorf("%w: a piece does not end", ErrDamaged)
			}
			ref, err := parseRef(document[1:end])
			if err != nil {
				return nil, nil, err
			}
			token, err := ref.Token(events)
			if err != nil {
				return nil, nil, err
			}
			whole, document = append(whole, token[1:len(token)-1]...), document[end+1:]
		case ',':
			document = document[1:]
		default:
			if !bytes.HasPrefix(document, refClose) {
				return nil, nil, fmt.Errorf("%w: %.20q is not a piece", ErrDamaged, document)
			}
			return append(whole, '"'), document[len(refClose):], nil
		}
	}
	return nil, nil, fmt.Errorf("%w: it does not end", ErrDamaged)
}

// Refs lists the events that a folded document refers to. It may list other events too.
func Refs(document []byte) []int64 {
	var seqs []int64
	for at := bytes.Index(document, anyRef); at >= 0; at = bytes.Index(document, anyRef) {
		document = document[at+len(anyRef):]
		end := bytes.Index(document, refClose)
		if end < 0 {
			return seqs
		}
		for _, part := range bytes.Split(document[:end], []byte("["))[1:] {
			number, _, _ := bytes.Cut(part, []byte(","))
			if seq, err := strconv.ParseInt(string(number), 10, 64); err == nil {
				seqs = append(seqs, seq)
			}
		}
	}
	return seqs
}
