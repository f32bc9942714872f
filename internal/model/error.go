// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"fmt"
	"time"
)

// Kind sorts the failures of a call by what is to be done about them.
type Kind string

// The kinds of failure. Those in the first group are worth another try, those in the second are not.
const (
	// RateLimited: too many requests or tokens; RetryAfter says when to come back, if the provider did.
	RateLimited Kind = "RateLimited"
	// Overloaded: the provider has no capacity now.
	Overloaded Kind = "Overloaded"
	// Transient: the provider or the network failed in a way that passes, a broken stream included.
	Transient Kind = "Transient"
	// TimedOut: no whole reply within the endpoint's timeout.
	TimedOut Kind = "TimedOut"
	// Malformed: what came is not a reply.
	Malformed Kind = "Malformed"
	// Oversized: what came is larger than any reply, or does not end.
	Oversized Kind = "Oversized"

	// Unauthorized: the key is missing, wrong, or may not do this.
	Unauthorized Kind = "Unauthorized"
	// NoKey: the key could not be read; the provider was not asked.
	NoKey Kind = "NoKey"
	// NotAllowed: the endpoint is at an address that the operator does not connect to, or redirects.
	NotAllowed Kind = "NotAllowed"
	// QuotaExhausted: the account has no credit left.
	QuotaExhausted Kind = "QuotaExhausted"
	// BadRequest: the provider does not accept the request.
	BadRequest Kind = "BadRequest"
	// UnknownModel: the provider does not have the model.
	UnknownModel Kind = "UnknownModel"
	// ContextTooLong: the history does not fit; it must be compacted before another try.
	ContextTooLong Kind = "ContextTooLong"
	// ContentFiltered: the provider's filter refused the request.
	ContentFiltered Kind = "ContentFiltered"
	// Cancelled: the caller's context ended.
	Cancelled Kind = "Cancelled"
)

// Error is a failed call. Its message is the provider's own words where there are any: on one line, cut to a length, without markup
// and without the API key, fit for status and ledger.
type Error struct {
	Kind Kind `json:"kind"`
	// StatusCode is the HTTP status; 0 when there was none.
	StatusCode int    `json:"statusCode,omitempty"`
	Message    string `json:"message"`
	// RetryAfter is how long the provider asked to be left alone; 0 when it did not say.
	RetryAfter time.Duration `json:"retryAfterNanos,omitempty"`
	// Usage is what the provider charges for the call all the same; nil when it did not say.
	Usage *Usage `json:"usage,omitempty"`

	cause error
}

// Error says what failed in a sentence.
func (e *Error) Error() string {
	if e.StatusCode == 0 {
		return fmt.Sprintf("model call failed: %s: %s", e.Kind, e.Message)
	}
	return fmt.Sprintf("model call failed: %s (HTTP %d): %s", e.Kind, e.StatusCode, e.Message)
}

// Unwrap returns the context's error of a cancelled call, so that errors.Is(err, context.Canceled) holds.
func (e *Error) Unwrap() error { return e.cause }

// Retryable reports whether the same call may succeed later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case RateLimited, Overloaded, Transient, TimedOut, Malformed, Oversized:
		return true
	}
	return false
}

// NeedsCompaction reports whether the call may succeed with a shorter history.
func (e *Error) NeedsCompaction() bool { return e.Kind == ContextTooLong }

func oversized(message string) *Error { return &Error{Kind: Oversized, Message: message} }

func malformed(message string) *Error { return &Error{Kind: Malformed, Message: message} }

func cancelled(ctx context.Context) *Error {
	return &Error{Kind: Cancelled, Message: context.Cause(ctx).Error(), cause: ctx.Err()}
}
