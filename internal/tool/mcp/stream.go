// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/outbound"
)

const (
	// maxResumes is how often in a row a stream is resumed without new events.
	maxResumes = 5
	// resumePause is the pause before a stream is resumed, unless the server requests another one up to maxResumePause.
	resumePause    = time.Second
	maxResumePause = time.Minute
)

// answerStream is the answer to a call as a stream of events. Notifications and requests of the server may precede the
// answer.
type answerStream struct {
	direct *directCaller
	id     json.RawMessage
	// last is the ID of the last event, and pause the server's requested pause before resuming.
	last  string
	pause time.Duration
}

// brokenStream is the error of a stream that could not be read to its end.
type brokenStream struct{ error }

// follow reads until the answer. A broken stream is resumed if the server numbers its events.
func (s *answerStream) follow(ctx context.Context, body io.ReadCloser) (rpcResponse, io.ReadCloser, error) {
	for failedResumes := 0; ; failedResumes++ {
		before := s.last
		answer, err := s.read(ctx, body)
		if err == nil {
			return answer, body, nil
		}
		_ = body.Close()
		if s.last != before {
			failedResumes = 0
		}
		if !errors.As(err, new(brokenStream)) || ctx.Err() != nil || s.last == "" || failedResumes == maxResumes {
			return rpcResponse{}, nil, err
		}
		if body, err = s.resume(ctx); err != nil {
			return rpcResponse{}, nil, err
		}
	}
}

func (s *answerStream) read(ctx context.Context, body io.Reader) (rpcResponse, error) {
	events := newEventReader(body)
	defer events.release()
	for {
		e, err := events.next()
		switch {
		case errors.Is(err, outbound.ErrTooLarge):
			return rpcResponse{}, err
		case errors.Is(err, io.EOF):
			return rpcResponse{}, brokenStream{errNoAnswer}
		case err != nil:
			return rpcResponse{}, brokenStream{fmt.Errorf("read the stream: %w", err)}
		}
		if e.id != "" {
			s.last = e.id
		}
		if e.retry > 0 {
			s.pause = min(e.retry, maxResumePause)
		}
		if len(e.data) == 0 || e.name != "" && e.name != "message" {
			continue
		}
		var m rpcResponse
		if json.Unmarshal(e.data, &m) != nil {
			return rpcResponse{}, errNotMCP
		}
		if m.Method == "" && bytes.Equal(m.ID, s.id) {
			return m, nil
		}
		s.direct.handleIncoming(ctx, m)
	}
}

// resume opens the stream again after the last event.
func (s *answerStream) resume(ctx context.Context) (io.ReadCloser, error) {
	if err := Pause(ctx, cmp.Or(s.pause, resumePause)); err != nil {
		return nil, err
	}
	request, err := s.direct.request(ctx, http.MethodGet, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Last-Event-Id", s.last)
	response, err := s.direct.send(request, outgoingMessage{})
	if err != nil {
		return nil, fmt.Errorf("resume the stream: %w", err)
	}
	return response.Body, nil
}

// handleIncoming handles a message that precedes the answer. Requests are answered one by one, so that a server that
// does not read the answers blocks only itself.
func (d *directCaller) handleIncoming(ctx context.Context, m rpcResponse) {
	switch {
	case m.Method == methodListChanged:
		d.onListChanged()
	case m.Method == methodPing && len(m.ID) > 0:
		d.notify(ctx, rpcRequest{JSONRPC: "2.0", ID: m.ID, Result: struct{}{}})
	case m.Method == methodProgress:
		var params sdk.ProgressNotificationParams
		if json.Unmarshal(m.Params, &params) == nil {
			activeCallFrom(ctx).progress(&params)
		}
	case m.Method == methodElicit && len(m.ID) > 0:
		d.answerElicitation(ctx, m)
	case m.Method != "" && len(m.ID) > 0:
		refusal := &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "not supported"}
		d.notify(ctx, rpcRequest{JSONRPC: "2.0", ID: m.ID, Error: refusal})
	}
}
