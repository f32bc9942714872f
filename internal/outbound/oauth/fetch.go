// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nestor-dev/nestor/internal/outbound"
	"github.com/nestor-dev/nestor/internal/shorten"
)

const (
	maxResponse = 64 << 10
	maxToken    = 16 << 10
	// maxCause bounds the text about a certificate.
	maxCause = 120
)

// Problem classifies failures of a token endpoint.
type Problem int

const (
	// Unreachable: the endpoint does not answer, or has an error of its own.
	Unreachable Problem = iota
	// Rejected: the endpoint refuses the client or the request.
	Rejected
	// NotAllowed: the endpoint has a forbidden address, or redirects.
	NotAllowed
	// InvalidResponse: the response has no usable token.
	InvalidResponse
	// LoginRequired: a person has to log in.
	LoginRequired
)

// Error is the error of a request for a token.
type Error struct {
	Problem Problem
	message string
}

func (e *Error) Error() string { return e.message }

// NewError returns an error whose message contains no secret.
func NewError(problem Problem, message string) *Error { return &Error{problem, message} }

// hints name what to check, by the error codes of RFC 6749, section 5.2, and RFC 8707. Other codes are not shown.
var hints = map[string]string{
	"invalid_client":         "check clientID and the Secret in clientSecretKeyRef",
	"invalid_grant":          "check that the client may use the client credentials grant",
	"unauthorized_client":    "check that the client may use the client credentials grant",
	"unsupported_grant_type": "check tokenURL: it does not support the client credentials grant",
	"invalid_scope":          "check scopes",
	"invalid_target":         "check audience and resource",
	"invalid_request":        "check tokenURL, scopes, audience and resource",
}

func (c Client) fetch(ctx context.Context, transport http.RoundTripper, secret string) (*token, error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	for name, value := range map[string]string{"scope": strings.Join(c.Scopes, " "), "audience": c.Audience, "resource": c.Resource} {
		if value != "" {
			form.Set(name, value)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, &Error{NotAllowed, "the token endpoint's URL cannot be used: check tokenURL"}
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	request.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(secret))
	start := time.Now()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, c.transportError(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(outbound.LimitBody(response.Body, maxResponse))
	switch {
	case response.StatusCode >= 300 && response.StatusCode < 400:
		return nil, c.problem(NotAllowed, "redirects, which is not followed: set tokenURL to the target of the redirect")
	case errors.Is(err, outbound.ErrTooLarge):
		return nil, c.problem(InvalidResponse, "sends more than %d KiB: check tokenURL", maxResponse>>10)
	case err != nil:
		return nil, c.transportError(ctx, err)
	case response.StatusCode != http.StatusOK:
		return nil, c.refusal(response.StatusCode, text)
	}
	return c.decode(text, start)
}

// refusal returns the error for a response that is not a success.
func (c Client) refusal(status int, text []byte) error {
	if status >= 500 || status == http.StatusTooManyRequests {
		return c.problem(Unreachable, "answers %d %s", status, http.StatusText(status))
	}
	var answer struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(text, &answer) // without a code, the message contains the status only
	if hint, ok := hints[answer.Error]; ok {
		return c.problem(Rejected, "refuses the client (%d %s): %s", status, answer.Error, hint)
	}
	return c.problem(Rejected, "refuses the client (%d %s): check tokenURL, clientID and the Secret in clientSecretKeyRef", status, http.StatusText(status))
}

// decode reads a token. Its lifetime counts from the start of the request.
func (c Client) decode(text []byte, start time.Time) (*token, error) {
	var answer struct {
		AccessToken string  `json:"access_token"`
		TokenType   string  `json:"token_type"`
		ExpiresIn   seconds `json:"expires_in"`
	}
	if json.Unmarshal(text, &answer) != nil || answer.AccessToken == "" {
		return nil, c.problem(InvalidResponse, "sends no access token: check tokenURL")
	}
	if !strings.EqualFold(answer.TokenType, "Bearer") {
		return nil, c.problem(InvalidResponse, "sends a token with a type other than Bearer, which is not supported")
	}
	if len(answer.AccessToken) > maxToken || slices.ContainsFunc([]byte(answer.AccessToken), func(b byte) bool { return b <= ' ' || b > '~' }) {
		return nil, c.problem(InvalidResponse, "sends a token that does not fit into a header")
	}
	lifetime := time.Duration(answer.ExpiresIn)
	if lifetime <= 0 {
		lifetime = defaultLifetime
	}
	expires := start.Add(lifetime)
	return &token{value: answer.AccessToken, renew: expires.Add(-min(lifetime/10, maxEarly)), expires: expires}, nil
}

// seconds is a number of seconds, which some endpoints send as a string. Other values count as none.
type seconds time.Duration

func (s *seconds) UnmarshalJSON(text []byte) error {
	var number float64
	const maxSeconds = 366 * 24 * 60 * 60
	if json.Unmarshal([]byte(strings.Trim(string(text), `"`)), &number) == nil && number > 0 {
		*s = seconds(min(number, maxSeconds) * float64(time.Second))
	}
	return nil
}

// transportError returns the error for an endpoint that does not answer.
func (c Client) transportError(ctx context.Context, err error) error {
	var forbidden *outbound.NotAllowedError
	switch {
	case errors.As(err, &forbidden):
		return c.problem(NotAllowed, "is forbidden: %s", forbidden.Error())
	case ctx.Err() != nil:
		return c.problem(Unreachable, "does not answer in time")
	}
	return c.problem(Unreachable, "cannot be reached%s: check tokenURL", networkCause(err))
}

// networkCause returns the cause of a failed connection. Other errors may repeat what the endpoint sent.
func networkCause(err error) string {
	var untrusted *tls.CertificateVerificationError
	var number syscall.Errno
	switch {
	case errors.As(err, new(*net.DNSError)):
		return " (its name is not found)"
	case errors.As(err, &untrusted):
		return " (" + shorten.UntrustedLine(untrusted.Err.Error(), maxCause) + ")"
	case errors.As(err, &number):
		return " (" + number.Error() + ")"
	}
	return ""
}

func (c Client) problem(problem Problem, format string, arguments ...any) error {
	host := "of an invalid URL"
	if u, err := url.Parse(c.TokenURL); err == nil {
		host = u.Host
	}
	return &Error{problem, "the token endpoint " + host + " " + fmt.Sprintf(format, arguments...)}
}
