// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "github.com/nestor-dev/nestor/internal/model"

// Oversized returns the error for a response that exceeds a bound.
func Oversized(message string) *model.Error {
	return &model.Error{Kind: model.Oversized, Message: message}
}

// Malformed returns the error for a response that is not a reply.
func Malformed(message string) *model.Error {
	return &model.Error{Kind: model.Malformed, Message: message}
}

// Truncated returns the error for a stream that ended early.
func Truncated() *model.Error {
	return &model.Error{Kind: model.Transient, Message: "the provider's stream ended before the reply was complete"}
}
