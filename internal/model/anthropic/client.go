// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// DefaultBaseURL is the base URL of an endpoint that has none.
const DefaultBaseURL = "https://api.anthropic.com"

// Client calls one provider. It is safe for concurrent use.
type Client struct {
	*wire.Connection

	service  anthropic.Client
	dialects wire.Dialects[dialect]
}

// NewClient returns a client for an endpoint. Its base URL may end with /v1 or before it.
func NewClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.BaseURL = cmp.Or(endpoint.BaseURL, DefaultBaseURL)
	endpoint.Path = "/v1/messages"
	connection, err := wire.Connect(endpoint)
	if err != nil {
		return nil, err
	}
	address := strings.TrimSuffix(strings.TrimSuffix(connection.BaseURL(), "/"), "/v1")
	// The SDK's client is not made by anthropic.NewClient, which would read ANTHROPIC_* and profiles from the environment. Its
	// spans are off, because their content is set by the environment too and the engine records calls itself. Retries are left
	// to the caller, which stores their time instead of blocking a goroutine.
	options := []option.RequestOption{
		option.WithBaseURL(address),
		option.WithHTTPClient(connection.HTTPClient()),
		option.WithMaxRetries(0),
		option.WithoutOpenTelemetry(),
	}
	for name, values := range connection.Query() {
		for _, value := range values {
			options = append(options, option.WithQueryAdd(name, value))
		}
	}
	return &Client{Connection: connection, service: anthropic.Client{Options: options}}, nil
}

// callOptions returns the options of the SDK for one call.
func callOptions(call *wire.Call) []option.RequestOption {
	var options []option.RequestOption
	if call.Key != "" {
		options = append(options, option.WithAPIKey(call.Key))
	}
	for name, values := range call.Header {
		for _, value := range values {
			options = append(options, option.WithHeader(name, value))
		}
	}
	return options
}

// Complete calls the model and returns the complete reply. While the reply streams in, listen (which may be nil) is
// called with each delta, on this goroutine. Every error is an *Error.
func (c *Client) Complete(ctx context.Context, req model.Request, listen func(model.Delta)) (model.Reply, error) {
	call, err := c.Start(ctx)
	if err != nil {
		return model.Reply{}, err
	}
	if listen == nil {
		listen = func(model.Delta) {}
	}
	attempt := func(used dialect) (model.Reply, error) { return c.attempt(call, req, used, listen) }
	return c.dialects.Try(req.Model+" "+string(req.ReasoningEffort), attempt, func(used dialect, err error) (next, lasting dialect) {
		next = used.after(err)
		return next, next.lasting()
	})
}

// attempt sends one HTTP request in the given dialect.
func (c *Client) attempt(call *wire.Call, req model.Request, used dialect, listen func(model.Delta)) (model.Reply, error) {
	body, err := encodeRequest(req, used)
	if err != nil {
		return model.Reply{}, &model.Error{Kind: model.BadRequest, Message: wire.Line(err.Error())}
	}
	limited, cancel := call.Context()
	defer cancel()

	options := callOptions(call)
	if req.IdempotencyKey != "" {
		options = append(options, option.WithHeader("Idempotency-Key", req.IdempotencyKey+used.suffix()))
	}
	var response *http.Response
	if err := c.service.Post(limited, "v1/messages", body, &response, options...); err != nil {
		return model.Reply{}, call.Fail(response, err)
	}
	defer response.Body.Close()
	reply, err := readReply(response.Body, req, listen)
	if err != nil {
		return model.Reply{}, call.Fail(nil, err)
	}
	return reply, nil
}

// Models lists the provider's models, which is a cheap check of the address and the key.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	call, err := c.Start(ctx)
	if err != nil {
		return nil, err
	}
	limited, cancel := call.Context()
	defer cancel()
	var response *http.Response
	if err := c.service.Get(limited, "v1/models?limit=1000", nil, &response, callOptions(call)...); err != nil {
		return nil, call.Fail(response, err)
	}
	defer response.Body.Close()
	var page struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := wire.DecodeJSON(response.Body, &page); err != nil {
		return nil, call.Fail(nil, err)
	}
	names := make([]string, 0, len(page.Data))
	for _, m := range page.Data {
		names = append(names, m.ID)
	}
	return names, nil
}

var _ model.Client = (*Client)(nil)
