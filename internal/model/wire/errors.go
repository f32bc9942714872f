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

// NotJSON returns the error for a reply that cannot be decoded.
func NotJSON(err error) *model.Error {
	return Malformed("the provider sent a reply that is not JSON: " + err.Error())
}

// Truncated returns the error for a stream that ended early.
func Truncated() *model.Error {
	return &model.Error{Kind: model.Transient, Message: "the provider's stream ended before the reply was complete"}
}
