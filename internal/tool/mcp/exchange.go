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

	"github.com/nestor-dev/nestor/internal/tool"
)

// maxWords bounds an error text, which a server may have written.
const maxWords = 1000

// exchange observes the HTTP requests that one operation makes. The SDK hands the
// operation's context on to them, and the context carries the exchange.
type exchange struct {
	mu      sync.Mutex
	sent    bool
	status  int
	secrets map[string]bool
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

// trace notes that a request leaves. What was not written cannot have had an
// effect; what was written may have, even in part.
func (e *exchange) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.sent, e.status = true, 0
		},
	})
}

func (e *exchange) answered(status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = status
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

// accepted reports whether the server took the request. An error that comes with
// it is the server's word; without it, the transport's.
func (e *exchange) accepted() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status >= 200 && e.status < 300
}

// refused reports whether the server answered that it did not accept the request.
func (e *exchange) refused() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status >= 400 && e.status < 500
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

// harmless reports whether the operation certainly had no effect.
func (e *exchange) harmless() bool {
	e.mu.Lock()
	sent := e.sent
	e.mu.Unlock()
	return !sent || e.refused()
}

// words returns the text of err, fit to be shown: bounded, without header values
// and without what an address may hold besides its host and path, and without the
// local port, which differs each time.
func (e *exchange) words(err error) string {
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
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	text, _ = tool.Page(strings.ToValidUTF8(text, "\uFFFD"), 0, maxWords)
	return text
}
