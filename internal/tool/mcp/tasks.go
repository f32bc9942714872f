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

// learn reads a message of the server.
func (t *taskTools) learn(message []byte) {
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
func (t *taskTools) watch(request *http.Request, sent message, response *http.Response) {
	stream := isStream(response)
	if request.Method == http.MethodPost && sent.Method != "tools/list" || request.Method == http.MethodGet && !stream {
		return
	}
	response.Body = &watchedBody{ReadCloser: response.Body, learn: t.learn, stream: stream}
}

// message has the fields of a client message that matter here.
type message struct {
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
}

// wantsAnswer reports whether the message is a request, rather than a notification or a response.
func (m message) wantsAnswer() bool { return m.Method != "" && len(m.ID) > 0 }

// messageOf decodes the body of a request, which the SDK always makes rereadable.
func messageOf(request *http.Request) (m message) {
	if request.GetBody == nil {
		return message{}
	}
	body, err := request.GetBody()
	if err != nil {
		return message{}
	}
	defer func() { _ = body.Close() }() // an in-memory copy
	if json.NewDecoder(body).Decode(&m) != nil {
		return message{}
	}
	return m
}

// watchedBody collects each data line of a stream, or a whole body. Anything longer than a list of tools may be is
// skipped.
type watchedBody struct {
	io.ReadCloser
	learn  func([]byte)
	stream bool
	held   []byte
	skip   bool // the line, or the body, is too long
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
		b.hold(line)
		if data, ok := bytes.CutPrefix(b.held, []byte("data:")); ok && !b.skip {
			b.learn(data)
		}
		b.held, b.skip, rest = b.held[:0], false, after
	}
	b.hold(rest)
	if !b.stream && err != nil && !b.skip {
		b.learn(b.held)
		b.held = nil
	}
	return n, err
}

func (b *watchedBody) hold(part []byte) {
	if b.skip = b.skip || len(b.held)+len(part) > maxPage; b.skip {
		b.held = nil
		return
	}
	b.held = append(b.held, part...)
}
