// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/outbound"
)

const (
	// maxBody bounds a response that is not a stream, and maxEvent one event of a stream. Both fit 10 MB of images;
	// decoding needs several times as much memory.
	maxBody  = 14 << 20
	maxEvent = 14 << 20
	// maxPage bounds one page of a list of tools.
	maxPage = 4 << 20
	// maxErrorBody bounds the part of an error's body that is read.
	maxErrorBody = 64 << 10
	// noticeTimeout limits how long a server may take to accept a message without an answer. Meanwhile its own
	// messages are queued in memory.
	noticeTimeout = 10 * time.Second
)

var (
	streamBytes = outbound.RateLimit{Burst: 32 << 20, PerSecond: 1 << 20}
	streamLines = outbound.RateLimit{Burst: 20000, PerSecond: 1000}
)

var errRedirect = errors.New("the server redirects, which is not followed: set spec.url to the target of the redirect")

// tripper returns the round tripper for all requests to the server.
func (s *Session) tripper() (*guardedTripper, error) {
	origin, err := s.server.origin()
	if err != nil {
		return nil, err
	}
	return &guardedTripper{base: s.options.HTTP, origin: origin, headers: s.server.Headers, tokens: s.tokens, tasks: &s.tasks}, nil
}

func (s Server) transport(tripper http.RoundTripper) sdk.Transport {
	client := &http.Client{
		Transport: tripper,
		// A redirect could send requests and headers to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if s.Transport == SSE {
		return &sdk.SSEClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxEvent}
	}
	return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxEvent}
}

// guardedTripper adds the headers, restricts requests to their origin and bounds responses.
type guardedTripper struct {
	base    http.RoundTripper
	origin  *url.URL
	headers Headers
	tokens  TokenSource
	tasks   *taskTools
}

func (g *guardedTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	return g.send(request, readMessage(request))
}

// send sends a request whose message has been decoded.
func (g *guardedTripper) send(request *http.Request, sent outgoingMessage) (*http.Response, error) {
	if request.URL.Scheme != g.origin.Scheme || request.URL.Host != g.origin.Host {
		return nil, fmt.Errorf("the server points to %s, which is not the configured host", request.URL.Host)
	}
	ctx := request.Context()
	observed := exchangeFrom(ctx)
	request = observed.trace(request)
	if g.headers != nil {
		headers, err := g.headers(ctx)
		if err != nil {
			return nil, fmt.Errorf("read headers: %w", err)
		}
		observed.setSecrets(request, headers)
	}
	if request.Method == http.MethodPost && !sent.expectsResponse() {
		limited, cancel := context.WithTimeout(ctx, noticeTimeout)
		request = request.WithContext(limited)
		defer cancel()
	}
	response, err := g.authorize(ctx, request)
	if err != nil {
		return nil, observed.recordProblem(err)
	}
	observed.recordResponse(request.Method, response.StatusCode)
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		_ = response.Body.Close() // the body is not needed
		return nil, observed.recordProblem(errRedirect)
	}
	response.Body = &observedBody{bound(sent, response), observed}
	g.tasks.watch(request, sent, response)
	return response, nil
}

func isStream(response *http.Response) bool {
	return strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream")
}

func bound(sent outgoingMessage, response *http.Response) io.ReadCloser {
	switch {
	case response.StatusCode >= 400:
		return outbound.TruncateBody(response.Body, maxErrorBody)
	case isStream(response):
		return outbound.LimitStream(response.Body, streamBytes, streamLines)
	case sent.Method == "tools/list":
		return outbound.LimitBody(response.Body, maxPage)
	default:
		return outbound.LimitBody(response.Body, maxBody)
	}
}

// observedBody records in the exchange why a body could not be read, because the SDK does not return that error.
type observedBody struct {
	io.ReadCloser
	seen *exchange
}

func (b *observedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, outbound.ErrTooLarge) {
		err = b.seen.recordProblem(err)
	}
	return n, err
}
