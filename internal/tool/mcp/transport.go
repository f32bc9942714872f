// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxBody bounds an answer that is not a stream, and maxEvent one event of a
	// stream. Both have room for a large image.
	maxBody  = 16 << 20
	maxEvent = 16 << 20
)

// transport returns the SDK's transport for the server.
func (s Server) transport(base http.RoundTripper) (sdk.Transport, error) {
	origin, err := s.origin()
	if err != nil {
		return nil, err
	}
	client := &http.Client{
		Transport: &guardedTripper{base: base, origin: origin, headers: s.Headers},
		// A redirect would carry requests and headers to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if s.Transport == SSE {
		return &sdk.SSEClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxEvent}, nil
	}
	return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxEvent}, nil
}

// guardedTripper adds the headers, keeps requests at their origin and bounds
// answers.
type guardedTripper struct {
	base    http.RoundTripper
	origin  *url.URL
	headers Headers
}

// RoundTrip implements http.RoundTripper.
func (g *guardedTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != g.origin.Scheme || request.URL.Host != g.origin.Host {
		return nil, fmt.Errorf("the server points to %s, which is not the configured host", request.URL.Host)
	}
	ctx := request.Context()
	seen := exchangeOf(ctx)
	request = seen.trace(request)
	if g.headers != nil {
		headers, err := g.headers(ctx)
		if err != nil {
			return nil, fmt.Errorf("read headers: %w", err)
		}
		seen.guard(headers)
		for name, values := range headers {
			request.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	response, err := g.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	seen.answered(request.Method, response.StatusCode)
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		response.Body = &boundedBody{ReadCloser: response.Body, left: maxBody}
	}
	return response, nil
}

var errTooLong = errors.New("the server's answer is too long")

// boundedBody fails when more than a number of bytes is read.
type boundedBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
