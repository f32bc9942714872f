// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// DefaultBaseURL is the base URL of an endpoint that has none.
const DefaultBaseURL = "https://api.anthropic.com"

// apiVersion is the version of the API, which each request names.
const apiVersion = "2023-06-01"

// Client calls one provider. It is safe for concurrent use.
type Client struct {
	wire.Completer[dialect]

	address string // with the version in the path
}

// NewClient returns a client for an endpoint. Its base URL may end with /v1 or before it.
func NewClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.BaseURL = cmp.Or(endpoint.BaseURL, DefaultBaseURL)
	endpoint.Path = "/v1/messages"
	connection, err := wire.Connect(endpoint)
	if err != nil {
		return nil, err
	}
	c := &Client{address: strings.TrimSuffix(strings.TrimSuffix(connection.BaseURL(), "/"), "/v1") + "/v1"}
	c.Completer = wire.Completer[dialect]{Connection: connection, ByEffort: true, Encode: encodeRequest, Send: c.send, Read: readReply}
	return c, nil
}

func authenticate(call *wire.Call, header http.Header) {
	header.Set("Anthropic-Version", apiVersion)
	if call.Key != "" {
		header.Set("X-Api-Key", call.Key)
	}
}

func (c *Client) send(ctx context.Context, call *wire.Call, _ model.Request, _ dialect, body []byte, header http.Header) (*http.Response, error) {
	authenticate(call, header)
	return call.Post(ctx, c.address+"/messages", nil, header, body)
}

// Models lists the provider's models, which is a cheap check of the address and the key.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	call, err := c.Start(ctx)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	authenticate(call, header)
	return call.GetModels(c.address+"/models", url.Values{"limit": {"1000"}}, header)
}

var _ model.Client = (*Client)(nil)
