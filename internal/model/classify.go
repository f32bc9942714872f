// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/outbound"
)

// classifyError converts the error of a call to an *Error without the key. ctx is the caller's context, to distinguish
// its end from the endpoint's timeout. response may be nil.
func (c *Client) classifyError(ctx context.Context, key string, response *http.Response, err error) *Error {
	sorted := c.classify(ctx, response, err)
	sorted.Message = providerLine(redact(sorted.Message, key))
	return sorted
}

func (c *Client) classify(ctx context.Context, response *http.Response, err error) *Error {
	var typed *Error
	var away *outbound.NotAllowedError
	switch {
	case ctx.Err() != nil:
		return cancelled(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Kind: TimedOut, Message: "the provider did not complete its reply within " + c.endpoint.Timeout.String()}
	case errors.As(err, &typed):
		return typed
	case errors.As(err, &away):
		return &Error{Kind: NotAllowed, Message: away.Error()}
	case errors.Is(err, outbound.ErrTooLarge):
		return oversized(err.Error())
	case response != nil && response.StatusCode >= 400:
		// The SDK leaves the body of an error response readable, even if it could not parse it.
		body, readErr := io.ReadAll(response.Body)
		if readErr != nil {
			body = nil
		}
		return classifyStatus(response.StatusCode, response.Header, body)
	}
	// Everything else is a connection error. The URL is omitted because its query may contain a key.
	if urlErr := new(url.Error); errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	return &Error{Kind: Transient, Message: "the connection to the provider failed: " + err.Error()}
}

// classifyStatus classifies an error that the provider reported, with an HTTP status or inside a stream (status 0).
func classifyStatus(status int, header http.Header, body []byte) *Error {
	reported := parseErrorBody(body)
	if status == 0 {
		status = reported.status
	}
	e := &Error{StatusCode: status, Message: reported.message}
	e.Kind = reported.kind(status)
	if e.Message == "" {
		e.Message = http.StatusText(status)
	}
	if status == http.StatusNotFound && e.Kind == BadRequest {
		e.Message += " (check the provider's baseURL: the path /chat/completions was not found under it)"
	}
	if e.Retryable() {
		e.RetryAfter = retryAfter(header, time.Now())
	}
	return e
}

// kind classifies by the provider's code, then by its message, then by the status.
func (s providerError) kind(status int) Kind {
	text := strings.ToLower(s.message)
	switch {
	case s.is("context_length_exceeded", "request_too_large") || isContextTooLong(status, text):
		return ContextTooLong
	case s.is("insufficient_quota", "billing_hard_limit_reached", "insufficient_balance") || status == http.StatusPaymentRequired:
		return QuotaExhausted
	case s.is("content_filter", "content_policy_violation"):
		return ContentFiltered
	case s.is("model_not_found") || isModelMissing(status, text):
		return UnknownModel
	case s.is("invalid_api_key", "authentication_error"), status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Unauthorized
	case s.is("rate_limit_exceeded", "rate_limit_error"), status == http.StatusTooManyRequests:
		return RateLimited
	case s.is("overloaded_error"), status == http.StatusServiceUnavailable, status == statusOverloaded:
		return Overloaded
	}
	return kindOfStatus(status)
}

// statusOverloaded is not registered, but several providers use it.
const statusOverloaded = 529

func kindOfStatus(status int) Kind {
	switch {
	case status == 0, status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		return Transient
	case status >= 500 && status != http.StatusNotImplemented:
		return Transient
	}
	return BadRequest
}

// isContextTooLong recognizes the messages of providers that have no code for it.
func isContextTooLong(status int, text string) bool {
	if status == http.StatusTooManyRequests {
		// A request that exceeds the limit per minute never fits, no matter how long one waits.
		return strings.Contains(text, "request too large")
	}
	if status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge && status != http.StatusUnprocessableEntity {
		return false
	}
	for _, phrase := range []string{
		"maximum context length", "context length", "context window", "context size", "prompt is too long",
		"input is too long", "too many tokens", "too many input tokens", "reduce the length",
	} {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}

func isModelMissing(status int, text string) bool {
	if status != http.StatusNotFound && status != http.StatusBadRequest || !strings.Contains(text, "model") {
		return false
	}
	for _, phrase := range []string{"not found", "does not exist", "not exist", "unknown model", "not a valid model", "invalid model", "no such model"} {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}
