// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// DefaultBaseURL is the base URL of an endpoint that has none.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Client calls one provider. It is safe for concurrent use.
type Client struct {
	wire.Completer[dialect]

	address string // with the version of the API
}

// apiVersion matches the last element of a base URL that has the version of the API.
var apiVersion = regexp.MustCompile(`^v\d+[a-z0-9]*$`)

// NewClient returns a client for an endpoint. Its base URL may end with the version of the API, such as /v1beta, or before it.
func NewClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.BaseURL = cmp.Or(endpoint.BaseURL, DefaultBaseURL)
	endpoint.Path = "/v1beta/models"
	connection, err := wire.Connect(endpoint)
	if err != nil {
		return nil, err
	}
	address := strings.TrimSuffix(connection.BaseURL(), "/")
	if !apiVersion.MatchString(path.Base(address)) {
		address += "/v1beta"
	}
	c := &Client{address: address}
	c.Completer = wire.Completer[dialect]{Connection: connection, ByEffort: true, Encode: encodeRequest, Send: c.send, Read: readReply}
	return c, nil
}

func (c *Client) send(ctx context.Context, call *wire.Call, req model.Request, body []byte, header http.Header) (*http.Response, error) {
	authenticate(call, header)
	return call.Post(ctx, c.address+modelPath(req.Model)+":streamGenerateContent", url.Values{"alt": {"sse"}}, header, body)
}

func authenticate(call *wire.Call, header http.Header) {
	if call.Key != "" {
		header.Set("X-Goog-Api-Key", call.Key)
	}
}

var modelKind = regexp.MustCompile(`^[a-zA-Z]+$`)

// modelPath returns the path of a model. A name without a kind, such as tunedModels/, is one of models.
func modelPath(name string) string {
	kind, rest, found := strings.Cut(name, "/")
	if !found || !modelKind.MatchString(kind) {
		kind, rest = "models", name
	}
	return "/" + kind + "/" + url.PathEscape(rest)
}

// Models lists the provider's models, which is a cheap check of the address and the key.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	call, err := c.Start(ctx)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	authenticate(call, header)
	var page struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := call.Get(c.address+"/models", url.Values{"pageSize": {"1000"}}, header, &page); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(page.Models))
	for _, m := range page.Models {
		names = append(names, strings.TrimPrefix(m.Name, "models/"))
	}
	return names, nil
}
