// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// taskTools records which tools of a server can only run as MCP tasks. The SDK does not decode a tool's "execution"
// field, so it is read from the responses to tools/list before the SDK gets them.
type taskTools struct {
	mu       sync.Mutex
	required map[string]bool
}

func (t *taskTools) requires(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.required[name]
}

func (t *taskTools) record(message []byte) {
	if !bytes.Contains(message, []byte(`"tools"`)) {
		return
	}
	var answer struct {
		Result struct {
			Tools []struct {
				Name      string `json:"name"`
				Execution struct {
					TaskSupport string `json:"taskSupport"`
				} `json:"execution"`
			} `json:"tools"`
		} `json:"result"`
	}
	if json.Unmarshal(message, &answer) != nil {
		return // the SDK reports the error
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.required == nil {
		t.required = map[string]bool{}
	}
	for _, offered := range answer.Result.Tools {
		t.required[offered.Name] = offered.Execution.TaskSupport == "required"
	}
}

// watch wraps the response to a tools/list request so that it is recorded while it is read. With the older transport,
// responses arrive on the stream that a GET opened.
func (t *taskTools) watch(request *http.Request, sent outgoingMessage, response *http.Response) {
	stream := isStream(response)
	if request.Method == http.MethodPost && sent.Method != "tools/list" || request.Method == http.MethodGet && !stream {
		return
	}
	response.Body = &watchedBody{ReadCloser: response.Body, onMessage: t.record, stream: stream}
}

// outgoingMessage has the fields of a client message that matter here.
type outgoingMessage struct {
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
}

// expectsResponse reports whether the message is a request, rather than a notification or a response.
func (m outgoingMessage) expectsResponse() bool { return m.Method != "" && len(m.ID) > 0 }

// readMessage decodes the body of a request, which the SDK always makes rereadable.
func readMessage(request *http.Request) (m outgoingMessage) {
	if request.GetBody == nil {
		return outgoingMessage{}
	}
	body, err := request.GetBody()
	if err != nil {
		return outgoingMessage{}
	}
	defer func() { _ = body.Close() }() // an in-memory copy
	if json.NewDecoder(body).Decode(&m) != nil {
		return outgoingMessage{}
	}
	return m
}

// watchedBody collects each data line of a stream, or a whole body. Anything longer than a list of tools may be is
// skipped.
type watchedBody struct {
	io.ReadCloser
	onMessage func([]byte)
	stream    bool
	buffered  []byte
	skip      bool // the line, or the body, is too long
}

// Read implements io.Reader. It has recorded the bytes before it returns them.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	rest := p[:n]
	for b.stream {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			break
		}
		b.buffer(line)
		if data, ok := bytes.CutPrefix(b.buffered, []byte("data:")); ok && !b.skip {
			b.onMessage(data)
		}
		b.buffered, b.skip, rest = b.buffered[:0], false, after
	}
	b.buffer(rest)
	if !b.stream && err != nil && !b.skip {
		b.onMessage(b.buffered)
		b.buffered = nil
	}
	return n, err
}

func (b *watchedBody) buffer(part []byte) {
	if b.skip = b.skip || len(b.buffered)+len(part) > maxPage; b.skip {
		b.buffered = nil
		return
	}
	b.buffered = append(b.buffered, part...)
}
