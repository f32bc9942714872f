// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"fmt"
	"time"
)

// Kind classifies failures by how to react to them.
type Kind string

// The kinds of failure. Those in the first group may be retried, those in the second may not.
const (
	// RateLimited: too many requests or tokens; RetryAfter is the provider's requested wait, if any.
	RateLimited Kind = "RateLimited"
	// Overloaded: the provider has no capacity now.
	Overloaded Kind = "Overloaded"
	// Transient: a temporary failure of the provider or the network, including a broken stream.
	Transient Kind = "Transient"
	// TimedOut: no complete reply within the endpoint's timeout.
	TimedOut Kind = "TimedOut"
	// Malformed: the response is not a reply.
	Malformed Kind = "Malformed"
	// Oversized: the response exceeds the bounds of a reply, or does not end.
	Oversized Kind = "Oversized"

	// Unauthorized: the key is missing, wrong, or lacks permission.
	Unauthorized Kind = "Unauthorized"
	// NoKey: the key could not be read; no request was sent.
	NoKey Kind = "NoKey"
	// NotAllowed: the endpoint has an address that the operator must not connect to, or redirects.
	NotAllowed Kind = "NotAllowed"
	// QuotaExhausted: the account has no credit left.
	QuotaExhausted Kind = "QuotaExhausted"
	// BadRequest: the provider does not accept the request.
	BadRequest Kind = "BadRequest"
	// UnknownModel: the provider does not have the model.
	UnknownModel Kind = "UnknownModel"
	// ContextTooLong: the history does not fit; it must be compacted before a retry.
	ContextTooLong Kind = "ContextTooLong"
	// ContentFiltered: the provider's filter rejected the request.
	ContentFiltered Kind = "ContentFiltered"
	// Cancelled: the caller's context ended.
	Cancelled Kind = "Cancelled"
)

// Error is a failed call. Its message is the provider's own text if there is any: one line of limited length, without
// markup and without the API key, suitable for a status and the ledger.
type Error struct {
	Kind Kind `json:"kind"`
	// StatusCode is the HTTP status, or 0 if there was none.
	StatusCode int    `json:"statusCode,omitempty"`
	Message    string `json:"message"`
	// RetryAfter is the wait that the provider requested, or 0.
	RetryAfter time.Duration `json:"retryAfterNanos,omitempty"`
	// Usage is the usage that the provider charges despite the failure; nil if unknown.
	Usage *Usage `json:"usage,omitempty"`

	cause error
}

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

// NewCancelled returns the error of a call whose caller's context ended.
func NewCancelled(ctx context.Context) *Error {
	return &Error{Kind: Cancelled, Message: context.Cause(ctx).Error(), cause: ctx.Err()}
}
