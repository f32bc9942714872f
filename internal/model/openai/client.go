// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// Client calls one provider. It is safe for concurrent use.
type Client struct {
	wire.Completer[dialect]

	service openai.ChatCompletionService
	models  openai.ModelService
}

func NewClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.Path = "/chat/completions"
	connection, err := wire.Connect(endpoint)
	if err != nil {
		return nil, err
	}
	c := &Client{service: openai.NewChatCompletionService(Options(connection)...), models: NewModelService(connection)}
	c.Completer = wire.Completer[dialect]{Connection: connection, Encode: encodeRequest, Send: c.send, Read: readReply}
	return c, nil
}

// Options returns the options of the SDK for a connection. Services are created with them directly, because openai.NewClient
// would read OPENAI_* from the environment. Retries are left to the caller, which stores their time instead of blocking a
// goroutine.
func Options(connection *wire.Connection) []option.RequestOption {
	options := []option.RequestOption{
		option.WithBaseURL(connection.BaseURL()),
		option.WithHTTPClient(connection.HTTPClient()),
		option.WithMaxRetries(0),
	}
	for name, values := range connection.Query() {
		for _, value := range values {
			options = append(options, option.WithQueryAdd(name, value))
		}
	}
	return options
}

// NewModelService returns the service that lists the models. Azure lists them beside the deployments, not under each.
func NewModelService(connection *wire.Connection) openai.ModelService {
	base, _, _ := strings.Cut(connection.BaseURL(), "/deployments/")
	return openai.NewModelService(append(Options(connection), option.WithBaseURL(base))...)
}

func CallOptions(call *wire.Call, more http.Header) []option.RequestOption {
	var options []option.RequestOption
	switch {
	case call.Key == "":
	case isAzure(call.Host()) && !isToken(call.Key):
		options = append(options, option.WithHeader("api-key", call.Key))
	default:
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

// isAzure reports whether a host is one of Azure's, which expect a key in a header of its own.
func isAzure(host string) bool {
	name, _, _ := strings.Cut(strings.ToLower(host), ":")
	return strings.HasSuffix(name, ".openai.azure.com") || strings.HasSuffix(name, ".cognitiveservices.azure.com") || strings.HasSuffix(name, ".services.ai.azure.com")
}

// isToken reports whether a key is a token of an identity (a JWT), which Azure accepts as a bearer token.
func isToken(key string) bool { return strings.HasPrefix(key, "eyJ") && strings.Count(key, ".") == 2 }

// Models lists the provider's models, which is a cheap check of the address and the key.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	return ListModels(ctx, c.Connection, c.models)
}

// ListModels lists the models of an API of OpenAI.
func ListModels(ctx context.Context, connection *wire.Connection, service openai.ModelService) ([]string, error) {
	call, err := connection.Start(ctx)
	if err != nil {
		return nil, err
	}
	limited, cancel := call.Context()
	defer cancel()
	var response *http.Response
	page, err := service.List(limited, append(CallOptions(call, nil), option.WithResponseInto(&response))...)
	if err != nil {
		return nil, call.Fail(response, err)
	}
	names := make([]string, 0, len(page.Data))
	for _, m := range page.Data {
		names = append(names, m.ID)
	}
	return names, nil
}

func (c *Client) send(ctx context.Context, call *wire.Call, _ model.Request, body []byte, header http.Header) (response *http.Response, err error) {
	_, err = c.service.New(ctx, openai.ChatCompletionNewParams{}, append(CallOptions(call, header),
		option.WithRequestBody("application/json", body), option.WithResponseBodyInto(&response))...)
	return response, err
}
