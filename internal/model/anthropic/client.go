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
	wire.Completer[dialect]

	service anthropic.Client
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
	c := &Client{service: anthropic.Client{Options: options}}
	c.Completer = wire.Completer[dialect]{Connection: connection, ByEffort: true, Encode: encodeRequest, Send: c.send, Read: readReply}
	return c, nil
}

func callOptions(call *wire.Call, more http.Header) []option.RequestOption {
	var options []option.RequestOption
	if call.Key != "" {
		options = append(options, option.WithAPIKey(call.Key))
	}
	for _, header := range []http.Header{call.Header, more} {
		for name, values := range header {
			for _, value := range values {
				options = append(options, option.WithHeader(name, value))
			}
		}
	}
	return options
}

func (c *Client) send(ctx context.Context, call *wire.Call, _ model.Request, body []byte, header http.Header) (response *http.Response, err error) {
	err = c.service.Post(ctx, "v1/messages", body, &response, callOptions(call, header)...)
	return response, err
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
	if err := c.service.Get(limited, "v1/models?limit=1000", nil, &response, callOptions(call, nil)...); err != nil {
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
