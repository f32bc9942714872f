// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import "context"

// API is the protocol that a provider speaks. The values are those of the ModelProvider's field.
type API string

const (
	OpenAI          API = "OpenAI"
	OpenAIResponses API = "OpenAIResponses"
	Anthropic       API = "Anthropic"
	Gemini          API = "Gemini"
	Bedrock         API = "Bedrock"
	Vertex          API = "Vertex"
	// A2A is the protocol of remote agents. It is that of roles, not of providers.
	A2A API = "A2A"
)

// Client calls one provider. It is safe for concurrent use.
type Client interface {
	// Complete calls the model and returns the complete reply. While the reply streams in, listen (which may be nil) is
	// called with each delta, on this goroutine. Every error is an *Error.
	Complete(ctx context.Context, req Request, listen func(Delta)) (Reply, error)
	// Models lists the provider's models, which is a cheap check of the address and the key.
	Models(ctx context.Context) ([]string, error)
	// Host returns the host of the provider, with its port if that is not the scheme's default.
	Host() string
}

// Canceller is a Client whose calls start work that continues without a call: that of a remote agent.
type Canceller interface {
	// Cancel ends the unfinished work of the request's conversation, if there is any. It may be repeated. Every error
	// is an *Error.
	Cancel(ctx context.Context, req Request) error
}
