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
	*wire.Connection

	service  responses.ResponseService
	models   sdk.ModelService
	dialects wire.Dialects[dialect]
}

func NewClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.Path = "/responses"
	connection, err := wire.Connect(endpoint)
	if err != nil {
		return nil, err
	}
	return &Client{Connection: connection, service: responses.NewResponseService(openai.Options(connection)...), models: openai.NewModelService(connection)}, nil
}

// Complete implements model.Client.
func (c *Client) Complete(ctx context.Context, req model.Request, listen func(model.Delta)) (model.Reply, error) {
	call, err := c.Start(ctx)
	if err != nil {
		return model.Reply{}, err
	}
	if listen == nil {
		listen = func(model.Delta) {}
	}
	attempt := func(used dialect) (model.Reply, error) { return c.attempt(call, req, used, listen) }
	return c.dialects.Try(req.Model, attempt, func(used dialect, err error) (next, lasting dialect) {
		next = used.after(err)
		return next, next
	})
}

// Models implements model.Client.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	return openai.ListModels(ctx, c.Connection, c.models)
}

// attempt sends one HTTP request in the given dialect.
func (c *Client) attempt(call *wire.Call, req model.Request, used dialect, listen func(model.Delta)) (model.Reply, error) {
	body, err := encodeRequest(req, used)
	if err != nil {
		return model.Reply{}, &model.Error{Kind: model.BadRequest, Message: wire.Line(err.Error())}
	}
	limited, cancel := call.Context()
	defer cancel()

	var response *http.Response
	options := append(openai.CallOptions(call), option.WithRequestBody("application/json", body), option.WithResponseBodyInto(&response))
	if req.IdempotencyKey != "" {
		options = append(options, option.WithHeader("Idempotency-Key", req.IdempotencyKey+used.suffix()))
	}
	if _, err = c.service.New(limited, responses.ResponseNewParams{}, options...); err != nil {
		return model.Reply{}, call.Fail(response, err)
	}
	defer response.Body.Close()
	reply, err := readReply(response.Body, req, listen)
	if err != nil {
		return model.Reply{}, call.Fail(nil, err)
	}
	return reply, nil
}
