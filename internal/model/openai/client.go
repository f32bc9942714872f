// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// Client calls one provider. It is safe for concurrent use.
type Client = wire.Completer[dialect]

func NewClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.Path = "/chat/completions"
	return Connect(endpoint, encodeRequest, readReply)
}

// Connect returns a client for an API of OpenAI. Azure lists the models beside the deployments, not under each.
func Connect[D wire.Dialect[D]](
	endpoint wire.Endpoint, encode func(model.Request, D) ([]byte, error), read func(io.ReadCloser, model.Request, func(model.Delta)) (model.Reply, error),
) (*wire.Completer[D], error) {
	connection, err := wire.Connect(endpoint)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(connection.BaseURL(), "/")
	listed, _, _ := strings.Cut(base, "/deployments/")
	return &wire.Completer[D]{
		Connection: connection, Encode: encode, Read: read, Authenticate: authenticate,
		Address: func(model.Request, D) (string, url.Values) { return base + endpoint.Path, nil },
		List: func(call *wire.Call, header http.Header) ([]string, error) {
			return call.GetModels(listed+"/models", nil, header)
		},
	}, nil
}

// authenticate adds the API key of a call, if it has one, to a header.
func authenticate(call *wire.Call, header http.Header) {
	switch {
	case call.Key == "":
	case isAzure(call.Host()) && !isToken(call.Key):
		header.Set("Api-Key", call.Key)
	default:
		wire.SendBearer(call, header)
	}
}

// isAzure reports whether a host is one of Azure's, which expect a key in a header of its own.
func isAzure(host string) bool {
	name, _, _ := strings.Cut(strings.ToLower(host), ":")
	return slices.ContainsFunc([]string{".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"},
		func(domain string) bool { return strings.HasSuffix(name, domain) })
}

// isToken reports whether a key is a token of an identity (a JWT), which Azure accepts as a bearer token.
func isToken(key string) bool { return strings.HasPrefix(key, "eyJ") && strings.Count(key, ".") == 2 }
