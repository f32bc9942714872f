// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import "context"

// Sent describes the last HTTP request of a call, after fallbacks and without the parameters that the provider
// rejected. It is plain data with a stable JSON form.
type Sent struct {
	// BodyDigest is the SHA-256 of the body in hexadecimal digits; empty if nothing was sent.
	BodyDigest string `json:"bodyDigest,omitempty"`
	// The parameters are those of the Request for this provider.
	Model           string          `json:"model"`
	Temperature     *float64        `json:"temperature,omitempty"`
	MaxOutputTokens int64           `json:"maxOutputTokens,omitempty"`
	ReasoningEffort ReasoningEffort `json:"reasoningEffort,omitempty"`
	TextOnly        bool            `json:"textOnly,omitempty"`
}

// NewSent returns the description of a request whose body was not sent yet.
func NewSent(r Request) *Sent {
	return &Sent{
		Model: r.Model, Temperature: r.Temperature, MaxOutputTokens: r.MaxOutputTokens,
		ReasoningEffort: r.ReasoningEffort, TextOnly: r.TextOnly,
	}
}

type sentKey struct{}

// WithSent returns a context for Complete, which sets the digest of each body that it sends.
func WithSent(ctx context.Context, sent *Sent) context.Context {
	return context.WithValue(ctx, sentKey{}, sent)
}

// SentFrom returns the value that WithSent added to a context, or nil.
func SentFrom(ctx context.Context) *Sent {
	sent, _ := ctx.Value(sentKey{}).(*Sent)
	return sent
}
