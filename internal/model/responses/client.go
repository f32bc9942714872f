// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package responses

import (
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// Client calls one provider. It is safe for concurrent use.
type Client = wire.Completer[dialect]

func NewClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.Path = "/responses"
	return openai.Connect(endpoint, encodeRequest, readReply)
}
