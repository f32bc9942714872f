// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"
)

type Parts struct {
	// Whole receives a body that is a single JSON object.
	Whole func(data []byte) error
	// Event receives the data of each event of a stream, until it reports that the stream is done.
	Event func(data []byte) (done bool, err error)
	// Stream reads a body that is neither a JSON object nor an event stream of text; nil if the API has no other form.
	Stream func(r io.Reader) error
}

// ReadBody reads the body of a response in either form. Providers do not set Content-Type reliably, but an event stream
// never begins with a brace and a JSON reply always does.
func ReadBody(body io.ReadCloser, parts Parts) error {
	buffered := bufio.NewReader(body)
	first, err := firstByte(buffered)
	if err != nil {
		return err
	}
	if first == '{' || first == '[' {
		return readWhole(buffered, parts.Whole)
	}
	if parts.Stream != nil {
		return parts.Stream(buffered)
	}
	return readEvents(buffered, body, parts.Event)
}

// firstByte skips white space and peeks at the first byte after it.
func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			return 0, Malformed("the provider sent an empty response")
		}
		if err != nil {
			return 0, err
		}
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return b, r.UnreadByte()
	}
}

func readWhole(r io.Reader, whole func([]byte) error) error {
	data, err := io.ReadAll(io.LimitReader(r, maxJSONBytes+1))
	if err != nil {
		return err
	}
	if len(data) > maxJSONBytes {
		return Oversized(fmt.Sprintf("the provider's reply is larger than %d MiB", maxJSONBytes>>20))
	}
	return whole(data)
}

func readEvents(r io.Reader, body io.Closer, event func([]byte) (bool, error)) error {
	// Some providers omit the empty line after the last event, without which the decoder would drop it.
	terminated := io.MultiReader(&eventReader{Reader: r}, strings.NewReader("\n\n"))
	decoder := ssestream.NewDecoder(&http.Response{Body: struct {
		io.Reader
		io.Closer
	}{terminated, body}})
	events := 0
	for decoder.Next() {
		events++
		done, err := event(bytes.TrimSpace(decoder.Event().Data))
		if done || err != nil {
			return err
		}
	}
	if err := decoder.Err(); err != nil {
		return err
	}
	if events == 0 {
		return Malformed("the provider sent neither JSON nor an event stream")
	}
	return nil
}
