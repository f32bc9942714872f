// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package responses

import (
	"context"
	"net/http"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// Client calls one provider. It is safe for concurrent use.
type Client struct{ wire.Completer[dialect] }

func NewClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.Path = "/responses"
	connection, err := wire.Connect(endpoint)
	if err != nil {
		return nil, err
	}
	c := &Client{}
	c.Completer = wire.Completer[dialect]{Connection: connection, Encode: encodeRequest, Send: c.send, Read: readReply}
	return c, nil
}

func (c *Client) Models(ctx context.Context) ([]string, error) {
	return openai.ListModels(ctx, c.Connection)
}

func (c *Client) send(ctx context.Context, call *wire.Call, _ model.Request, _ dialect, body []byte, header http.Header) (*http.Response, error) {
	openai.Authenticate(call, header)
	return call.Post(ctx, openai.Address(c.Connection, "/responses"), nil, header, body)
}
