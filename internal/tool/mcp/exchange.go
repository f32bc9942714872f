// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/nestor-dev/nestor/internal/outbound"
)

const (
	// maxWords bounds an error text, and maxAnswer an error with which a server
	// answers a call, which the model should be able to act on.
	maxWords  = 300
	maxAnswer = 1000
	// shortestSecret is the shortest header value that is removed from texts: to
	// remove every "1" would hide nothing and garble everything.
	shortestSecret = 6
)

// exchange observes the HTTP requests that one operation makes. The SDK hands the
// operation's context on to them, and the context carries the exchange. Messages
// are POSTs; a GET only opens a stream, or resumes one.
type exchange struct {
	mu       sync.Mutex
	sent     bool // a message began to leave
	accepted bool // the server took a message, whatever came after
	status   int  // of the last answer, 0 while there is none
	secrets  map[string]bool
	problem  error // why the server is not usable, if that was seen here
}

type exchangeKey struct{}

// observe returns a context whose requests are seen by the exchange.
func observe(ctx context.Context) (context.Context, *exchange) {
	e := &exchange{secrets: map[string]bool{}}
	return context.WithValue(ctx, exchangeKey{}, e), e
}

// exchangeOf returns the exchange of ctx, or one that nobody looks at.
func exchangeOf(ctx context.Context) *exchange {
	if e, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return e
	}
	return &exchange{secrets: map[string]bool{}}
}

// trace notes that a message leaves. What was not written cannot have had an
// effect; what was written may have, even in part.
func (e *exchange) trace(request *http.Request) *http.Request {
	trace := &httptrace.ClientTrace{WroteHeaders: func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.status = 0
		e.sent = e.sent || request.Method == http.MethodPost
	}}
	return request.Clone(httptrace.WithClientTrace(request.Context(), trace))
}

func (e *exchange) answered(method string, status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = status
	e.accepted = e.accepted || method == http.MethodPost && status >= 200 && status < 300
}

// failed remembers why the server is not usable, and returns err.
func (e *exchange) failed(err error) error {
	if errors.As(err, new(*outbound.NotAllowedError)) || errors.Is(err, outbound.ErrTooMuch) || errors.Is(err, errRedirect) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.problem = err
	}
	return err
}

// cause returns why the server is not usable, or nil.
func (e *exchange) cause() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.problem
}

// guard remembers header values that must not show.
func (e *exchange) guard(headers http.Header) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, values := range headers {
		for _, value := range values {
			e.secrets[value] = true
			// "Bearer abc" may come back as "abc".
			if _, credential, ok := strings.Cut(value, " "); ok {
				e.secrets[credential] = true
			}
		}
	}
}

// taken reports whether the server took the message. An error that comes with it is
// the server's word; without it, the transport's.
func (e *exchange) taken() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.accepted
}

// harmless reports whether the operation certainly had no effect: no message left,
// or the server refused it.
func (e *exchange) harmless() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	refused := e.status >= 400 && e.status < 500
	return !e.sent || refused && !e.accepted
}

// unauthorized reports whether the server does not accept the headers.
func (e *exchange) unauthorized() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status == http.StatusUnauthorized || e.status == http.StatusForbidden
}

// throttled reports whether the server asks to be left alone.
func (e *exchange) throttled() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status == http.StatusTooManyRequests
}

// undecodable are the beginnings of errors of the SDK that repeat what a server
// sent. A server that does not speak MCP may be any service of the network.
var undecodable = []string{"failed to decode", "malformed line", "unmarshaling", "invalid message version tag", "error reading event", "missing endpoint", "mismatching session IDs"}

// words returns the text of err, fit to be shown: bounded, on a line, without
// header values and without what an address may hold besides its host and path, and
// without the local port, which differs each time.
func (e *exchange) words(err error) string {
	if problem := e.cause(); problem != nil {
		return e.line(problem, maxWords)
	}
	for _, beginning := range undecodable {
		if strings.Contains(err.Error(), beginning) && !errors.As(err, new(*jsonrpc.Error)) {
			return "the server's answer is not MCP"
		}
	}
	return e.line(err, maxWords)
}

// line is words for an error that may be longer.
func (e *exchange) line(err error, limit int) string {
	text := err.Error()
	var request *url.Error
	if errors.As(err, &request) {
		if u, bad := url.Parse(request.URL); bad == nil {
			u.User, u.RawQuery = nil, ""
			text = strings.ReplaceAll(text, request.URL, u.String())
		}
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Source != nil {
		text = strings.ReplaceAll(text, network.Source.String()+"->", "")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for secret := range e.secrets {
		if len(secret) >= shortestSecret {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	return outbound.Line(text, limit)
}
