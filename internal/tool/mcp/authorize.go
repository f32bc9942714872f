// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"fmt"
	"net/http"

	"github.com/nestor-dev/nestor/internal/outbound/oauth"
)

// tokenReasons are the reasons of a session that gets no token.
var tokenReasons = map[oauth.Problem]Reason{
	oauth.Unreachable:     ConnectFailed,
	oauth.Rejected:        Unauthorized,
	oauth.NotAllowed:      NotAllowed,
	oauth.InvalidResponse: InvalidResponse,
	oauth.LoginRequired:   Unauthorized,
}

// authorize sends a request with an access token, if the server needs one. A request that is answered with 401 was not
// executed (RFC 9110, section 15.5.2), so it is sent once more with another token, whatever it would change.
func (g *guardedTripper) authorize(ctx context.Context, request *http.Request) (*http.Response, error) {
	if g.tokens == nil {
		return g.base.RoundTrip(request)
	}
	exchange := exchangeFrom(ctx)
	token, err := g.setToken(ctx, request, exchange)
	if err != nil {
		return nil, err
	}
	again, err := repeatable(request)
	if err != nil {
		return nil, err
	}
	response, err := g.base.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusUnauthorized || !g.tokens.Refused(token) {
		return response, err
	}
	_ = response.Body.Close() // the body is not needed
	exchange.recordResponse(request.Method, response.StatusCode)
	if _, err := g.setToken(ctx, again, exchange); err != nil {
		return nil, err
	}
	return g.base.RoundTrip(again)
}

// setToken sets the token of a request and returns it. The context is the one without the trace of the request, because
// the request to the token endpoint is not a message to the server.
func (g *guardedTripper) setToken(ctx context.Context, request *http.Request, observed *exchange) (string, error) {
	token, err := g.tokens.Token(ctx)
	if err != nil {
		return "", fmt.Errorf("get an access token: %w", err)
	}
	observed.setSecrets(request, http.Header{"Authorization": {"Bearer " + token}})
	return token, nil
}

// repeatable returns a copy of a request that has not been sent.
func repeatable(request *http.Request) (*http.Request, error) {
	again := request.Clone(request.Context())
	if request.Body == nil || request.Body == http.NoBody {
		return again, nil
	}
	if request.GetBody == nil {
		return nil, fmt.Errorf("the body of a %s cannot be read twice", request.Method)
	}
	body, err := request.GetBody()
	if err != nil {
		return nil, fmt.Errorf("read the body again: %w", err)
	}
	again.Body = body
	return again, nil
}
