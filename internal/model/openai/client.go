// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"net/http"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// Client calls one provider. It is safe for concurrent use.
type Client struct{ wire.Completer[dialect] }

func NewClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.Path = "/chat/completions"
	connection, err := wire.Connect(endpoint)
	if err != nil {
		return nil, err
	}
	c := &Client{}
	c.Completer = wire.Completer[dialect]{Connection: connection, Encode: encodeRequest, Send: c.send, Read: readReply}
	return c, nil
}

func (c *Client) send(ctx context.Context, call *wire.Call, _ model.Request, _ dialect, body []byte, header http.Header) (*http.Response, error) {
	Authenticate(call, header)
	return call.Post(ctx, Address(c.Connection, "/chat/completions"), nil, header, body)
}

// Models lists the provider's models, which is a cheap check of the address and the key.
func (c *Client) Models(ctx context.Context) ([]string, error) { return ListModels(ctx, c.Connection) }

// ListModels lists the models of an API of OpenAI. Azure lists them beside the deployments, not under each.
func ListModels(ctx context.Context, connection *wire.Connection) ([]string, error) {
	call, err := connection.Start(ctx)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	Authenticate(call, header)
	base, _, _ := strings.Cut(Address(connection, ""), "/deployments/")
	return call.GetModels(base+"/models", nil, header)
}

// Address returns the address of a path under the base URL.
func Address(connection *wire.Connection, path string) string {
	return strings.TrimSuffix(connection.BaseURL(), "/") + path
}

// Authenticate adds the API key of a call, if it has one, to a header.
func Authenticate(call *wire.Call, header http.Header) {
	switch {
	case call.Key == "":
	case isAzure(call.Host()) && !isToken(call.Key):
		header.Set("Api-Key", call.Key)
	default:
		header.Set("Authorization", "Bearer "+call.Key)
	}
}

// isAzure reports whether a host is one of Azure's, which expect a key in a header of its own.
func isAzure(host string) bool {
	name, _, _ := strings.Cut(strings.ToLower(host), ":")
	return strings.HasSuffix(name, ".openai.azure.com") || strings.HasSuffix(name, ".cognitiveservices.azure.com") || strings.HasSuffix(name, ".services.ai.azure.com")
}

// isToken reports whether a key is a token of an identity (a JWT), which Azure accepts as a bearer token.
func isToken(key string) bool { return strings.HasPrefix(key, "eyJ") && strings.Count(key, ".") == 2 }
