// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"cmp"
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
type Client = wire.Completer[dialect]

// NewClient returns a client for an endpoint. Its base URL may end with /v1 or before it.
func NewClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.BaseURL = cmp.Or(endpoint.BaseURL, DefaultBaseURL)
	endpoint.Path = "/v1/messages"
	connection, err := wire.Connect(endpoint)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(strings.TrimSuffix(connection.BaseURL(), "/"), "/v1")
	return &Client{
		Connection: connection, ByEffort: true, Encode: encodeRequest, Read: readReply, Authenticate: authenticate,
		Address: func(model.Request, dialect) (string, url.Values) { return base + endpoint.Path, nil },
		List: func(call *wire.Call, header http.Header) ([]string, error) {
			return call.GetModels(base+"/v1/models", url.Values{"limit": {"1000"}}, header)
		},
	}, nil
}

func authenticate(call *wire.Call, header http.Header) {
	header.Set("Anthropic-Version", apiVersion)
	if call.Key != "" {
		header.Set("X-Api-Key", call.Key)
	}
}

var _ model.Client = (*Client)(nil)
