// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/outbound"
)

type event struct {
	id, name string
	retry    time.Duration
	data     []byte
}

// eventReader reads the events of a stream. Most streams have one event, so its buffer is pooled.
type eventReader struct{ lines *bufio.Reader }

var lineBuffers = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

func newEventReader(body io.Reader) eventReader {
	lines := lineBuffers.Get().(*bufio.Reader)
	lines.Reset(body)
	return eventReader{lines}
}

func (r eventReader) release() {
	r.lines.Reset(nil)
	lineBuffers.Put(r.lines)
}

// next returns the next event. An event that the end of the stream truncates is dropped, unless only the empty line
// is missing.
func (r eventReader) next() (event, error) {
	var e event
	size := 0
	for {
		line, err := r.line(maxEvent - size)
		if size += len(line); size > maxEvent {
			return event{}, fmt.Errorf("%w: an event is larger than %d MiB", outbound.ErrTooLarge, maxEvent>>20)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) > 0 {
			e.add(line)
		}
		switch {
		case errors.Is(err, io.EOF) && json.Valid(e.data):
			return e, nil
		case err != nil:
			return event{}, err
		case len(line) == 0:
			return e, nil
		}
	}
}

// add parses a line of an event. Comments and unknown fields are ignored.
func (e *event) add(line []byte) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "id":
		e.id = string(value)
	case "event":
		e.name = string(value)
	case "retry":
		if millis, err := strconv.Atoi(string(value)); err == nil {
			e.retry = time.Duration(millis) * time.Millisecond
		}
	case "data":
		if e.data != nil {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
	}
}

// line returns a line with its line break, or a prefix if it is longer than limit. It is valid until the next call.
func (r eventReader) line(limit int) ([]byte, error) {
	line, err := r.lines.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	whole := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) && len(whole) <= limit {
		line, err = r.lines.ReadSlice('\n')
		whole = append(whole, line...)
	}
	return whole, err
}
