// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/outbound"
)

// Fail converts the error of a call to a *model.Error without the key. response may be nil; the body of an error
// response is read.
func (c *Call) Fail(response *http.Response, err error) *model.Error {
	failure := c.classify(response, err)
	secrets := []string{c.Key}
	if c.signature != nil {
		secrets = append(secrets, c.signature.Token) // a wrong signature is reported with the whole canonical request
	}
	for _, values := range c.Header { // they come from Secrets too
		secrets = append(secrets, values...)
	}
	for _, secret := range secrets {
		failure.Message = redact(failure.Message, secret)
	}
	failure.Message = Line(failure.Message)
	return failure
}

func (c *Call) classify(response *http.Response, err error) *model.Error {
	var typed *model.Error
	var away *outbound.NotAllowedError
	switch {
	case c.caller.Err() != nil:
		return model.NewCancelled(c.caller)
	case errors.Is(err, context.DeadlineExceeded):
		return &model.Error{Kind: model.TimedOut, Message: "the provider did not complete its reply within " + c.connection.endpoint.Timeout.String()}
	case errors.As(err, &typed):
		return typed
	case errors.As(err, &away):
		return &model.Error{Kind: model.NotAllowed, Message: away.Error()}
	case errors.Is(err, outbound.ErrTooLarge):
		return Oversized(err.Error())
	case response != nil && response.StatusCode >= 400:
		body, readErr := io.ReadAll(response.Body)
		if readErr != nil {
			body = nil
		}
		reported := Reported(response.StatusCode, response.Header, body)
		if response.StatusCode == http.StatusNotFound && reported.Kind == model.BadRequest {
			reported.Message += " (check the provider's baseURL: the path " + c.connection.endpoint.Path + " was not found under it)"
		}
		return reported
	}
	// Everything else is a connection error. The URL is omitted because its query may contain a key.
	if urlErr := new(url.Error); errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	return &model.Error{Kind: model.Transient, Message: "the connection to the provider failed: " + err.Error()}
}

// Reported classifies an error that the provider reported, with an HTTP status or inside a stream (status 0).
func Reported(status int, header http.Header, body []byte) *model.Error {
	reported := parseErrorBody(body)
	if kind, _, _ := strings.Cut(header.Get(ErrorTypeHeader), ":"); kind != "" {
		reported.codes = append(reported.codes, kind)
	}
	if status == 0 {
		status = reported.status
	}
	e := &model.Error{StatusCode: status, Message: reported.message}
	e.Kind = reported.kind(status)
	if e.Message == "" {
		e.Message = http.StatusText(status)
	}
	if e.Retryable() {
		e.RetryAfter = cmp.Or(retryAfter(header, time.Now()), reported.retryAfter)
	}
	return e
}

// ErrorTypeHeader is the header with the name of an AWS exception, which is not in the body.
const ErrorTypeHeader = "X-Amzn-Errortype"

// kind classifies by the provider's code, then by its message, then by the status.
func (s providerError) kind(status int) model.Kind {
	text := strings.ToLower(s.message)
	switch {
	case s.is("context_length_exceeded", "request_too_large") || isContextTooLong(status, text):
		return model.ContextTooLong
	case s.is("insufficient_quota", "billing_hard_limit_reached", "insufficient_balance", "billing_error", codeDailyQuota),
		status == http.StatusPaymentRequired, s.is("ThrottlingException") && strings.Contains(text, "per day"), strings.Contains(text, "credit balance is too low"), strings.Contains(text, "credits are depleted"):
		return model.QuotaExhausted
	case s.is("content_filter", "content_policy_violation"):
		return model.ContentFiltered
	case s.is("model_not_found", "ResourceNotFoundException"), s.is("not_found_error") && strings.HasPrefix(text, "model:"), isModelMissing(status, text):
		return model.UnknownModel
	case s.is("invalid_api_key", "authentication_error", "permission_error", "API_KEY_INVALID", "UNAUTHENTICATED", "PERMISSION_DENIED"), status == http.StatusUnauthorized, status == http.StatusForbidden:
		return model.Unauthorized
	case s.is("ModelNotReadyException"):
		return model.Overloaded
	case s.is("rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED", "ThrottlingException", "ServiceQuotaExceededException"),
		status == http.StatusTooManyRequests:
		return model.RateLimited
	case s.is("overloaded_error", "UNAVAILABLE", "ServiceUnavailableException"), status == http.StatusServiceUnavailable, status == statusOverloaded:
		return model.Overloaded
	case status == 0 && s.is("invalid_request_error", "INVALID_ARGUMENT", "ValidationException"):
		return model.BadRequest
	case s.is("ModelErrorException"): // the model failed, with the status 424
		return model.Transient
	}
	return kindOfStatus(status)
}

// statusOverloaded is not registered, but several providers use it.
const statusOverloaded = 529

func kindOfStatus(status int) model.Kind {
	switch {
	case status == 0, status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		return model.Transient
	case status >= 500 && status != http.StatusNotImplemented:
		return model.Transient
	}
	return model.BadRequest
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
	return ContainsAny(text,
		"context length", "context window", "context size", "context limit", "prompt is too long", "input is too long",
		"too many tokens", "too many input tokens", "reduce the length", "exceeds the maximum number of tokens")
}

func isModelMissing(status int, text string) bool {
	if status != http.StatusNotFound && status != http.StatusBadRequest || !strings.Contains(text, "model") {
		return false
	}
	return ContainsAny(text,
		"not found", "not exist", "unknown model", "not a valid model", "model identifier is invalid", "invalid model", "no such model")
}

// ContainsAny reports whether text contains one of the parts.
func ContainsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}
