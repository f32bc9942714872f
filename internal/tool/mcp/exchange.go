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
	"github.com/nestor-dev/nestor/internal/outbound/oauth"
	"github.com/nestor-dev/nestor/internal/shorten"
)

const (
	// maxMessage bounds an error text. maxAnswer bounds an error with which a server answers a call; it is longer
	// because the model should be able to act on it.
	maxMessage = 300
	maxAnswer  = 1000
	// minSecretBytes is the minimum length of a header value that is removed from texts: removing every "1" would
	// only garble them.
	minSecretBytes = 6
)

// exchange observes the HTTP requests of one operation. The SDK passes the operation's context on to them, and the
// context carries the exchange. Messages are POSTs; a GET only opens or resumes a stream.
type exchange struct {
	mu       sync.Mutex
	sent     bool // a message was at least partly sent
	accepted bool // the server accepted a message
	status   int  // of the last response, or 0
	secrets  map[string]bool
	problem  error // why the server is unusable, if known
}

type exchangeKey struct{}

// observe returns a context whose requests are recorded in the exchange.
func observe(ctx context.Context) (context.Context, *exchange) {
	e := &exchange{secrets: map[string]bool{}}
	return context.WithValue(ctx, exchangeKey{}, e), e
}

// exchangeFrom returns the exchange of ctx, or a new one that is discarded.
func exchangeFrom(ctx context.Context) *exchange {
	if e, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return e
	}
	return &exchange{secrets: map[string]bool{}}
}

// trace records that a message is sent. A message that was not written cannot have had an effect; one that was
// written, even in part, may have.
func (e *exchange) trace(request *http.Request) *http.Request {
	trace := &httptrace.ClientTrace{WroteHeaders: func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.status = 0
		e.sent = e.sent || request.Method == http.MethodPost
	}}
	return request.Clone(httptrace.WithClientTrace(request.Context(), trace))
}

func (e *exchange) recordResponse(method string, status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = status
	e.accepted = e.accepted || method == http.MethodPost && status >= 200 && status < 300
}

// recordProblem records why the server is unusable, and returns err.
func (e *exchange) recordProblem(err error) error {
	if errors.As(err, new(*outbound.NotAllowedError)) || errors.As(err, new(*oauth.Error)) || errors.Is(err, outbound.ErrTooLarge) || errors.Is(err, errRedirect) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.problem = err
	}
	return err
}

// cause returns why the server is unusable, or nil.
func (e *exchange) cause() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.problem
}

// setSecrets sets headers of a request, and records their values, which must not appear in texts.
func (e *exchange) setSecrets(request *http.Request, headers http.Header) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, values := range headers {
		request.Header[http.CanonicalHeaderKey(name)] = values
		for _, value := range values {
			e.secrets[value] = true
			// A server may repeat "Bearer abc" as "abc".
			if _, credential, ok := strings.Cut(value, " "); ok {
				e.secrets[credential] = true
			}
		}
	}
}

// wasAccepted reports whether the server accepted the message. An error is then the server's answer, otherwise the
// transport's.
func (e *exchange) wasAccepted() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.accepted
}

// hadNoEffect reports whether the operation certainly had no effect: no message was sent, or the server rejected it.
func (e *exchange) hadNoEffect() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	refused := e.status >= 400 && e.status < 500
	return !e.sent || refused && !e.accepted
}

// unauthorized reports whether the server does not accept the headers, or the token endpoint the client.
func (e *exchange) unauthorized() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	var noToken *oauth.Error
	if errors.As(e.problem, &noToken) {
		return noToken.Problem == oauth.Rejected || noToken.Problem == oauth.LoginRequired
	}
	return e.status == http.StatusUnauthorized || e.status == http.StatusForbidden
}

// throttled reports whether the server limits the rate of requests.
func (e *exchange) throttled() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status == http.StatusTooManyRequests
}

// decodeErrorPrefixes are the prefixes of SDK errors that repeat what a server sent. Such a server may be any service
// of the network, so the text is not shown.
var decodeErrorPrefixes = []string{"failed to decode", "malformed line", "unmarshaling", "invalid message version tag", "error reading event", "missing endpoint", "mismatching session IDs"}

// message returns the text of err in a form that may be shown: one line of bounded length without header values,
// without parts of URLs besides host and path, and without local ports, which differ each time.
func (e *exchange) message(err error) string {
	if problem := e.cause(); problem != nil {
		return e.messageUpTo(problem, maxMessage)
	}
	for _, beginning := range decodeErrorPrefixes {
		if strings.Contains(err.Error(), beginning) && !errors.As(err, new(*jsonrpc.Error)) {
			return "the server's answer is not MCP"
		}
	}
	return e.messageUpTo(err, maxMessage)
}

// messageUpTo returns the text of err like message, but never replaces it, and with a limit of its own.
func (e *exchange) messageUpTo(err error, limit int) string {
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
		if len(secret) >= minSecretBytes {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	return shorten.UntrustedLine(text, limit)
}
