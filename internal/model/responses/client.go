// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package responses

import (
	"context"
	"net/http"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// Client calls one provider. It is safe for concurrent use.
type Client struct {
	wire.Completer[dialect]

	service responses.ResponseService
	models  sdk.ModelService
}

func NewClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.Path = "/responses"
	connection, err := wire.Connect(endpoint)
	if err != nil {
		return nil, err
	}
	c := &Client{service: responses.NewResponseService(openai.Options(connection)...), models: openai.NewModelService(connection)}
	c.Completer = wire.Completer[dialect]{Connection: connection, Encode: encodeRequest, Send: c.send, Read: readReply}
	return c, nil
}

func (c *Client) Models(ctx context.Context) ([]string, error) {
	return openai.ListModels(ctx, c.Connection, c.models)
}

func (c *Client) send(ctx context.Context, call *wire.Call, _ model.Request, body []byte, header http.Header) (response *http.Response, err error) {
	_, err = c.service.New(ctx, responses.ResponseNewParams{}, append(openai.CallOptions(call, header),
		option.WithRequestBody("application/json", body), option.WithResponseBodyInto(&response))...)
	return response, err
}
