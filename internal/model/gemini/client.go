// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
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
	client  *http.Client
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
	c := &Client{address: address, client: connection.HTTPClient()}
	c.Completer = wire.Completer[dialect]{Connection: connection, ByEffort: true, Encode: encodeRequest, Send: c.generate, Read: readReply}
	return c, nil
}

func (c *Client) generate(ctx context.Context, call *wire.Call, req model.Request, body []byte, header http.Header) (*http.Response, error) {
	header.Set("Content-Type", "application/json")
	return c.send(ctx, call, http.MethodPost, modelPath(req.Model)+":streamGenerateContent", url.Values{"alt": {"sse"}}, bytes.NewReader(body), header)
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

// send sends a request with the query of the endpoint, and the key and headers of a call. The error is a *model.Error.
func (c *Client) send(ctx context.Context, call *wire.Call, method, path string, query url.Values, body io.Reader, header http.Header) (*http.Response, error) {
	all := url.Values{}
	maps.Copy(all, c.Query())
	maps.Copy(all, query)
	request, err := http.NewRequestWithContext(ctx, method, c.address+path+"?"+all.Encode(), body)
	if err != nil {
		return nil, call.Fail(nil, err)
	}
	request.Header = header
	request.Header.Set("User-Agent", "nestor")
	if call.Key != "" {
		request.Header.Set("X-Goog-Api-Key", call.Key)
	}
	for name, values := range call.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	response, err := c.client.Do(request)
	if err != nil {
		return nil, call.Fail(nil, err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		defer response.Body.Close()
		return nil, call.Fail(response, fmt.Errorf("status %d", response.StatusCode))
	}
	return response, nil
}

// Models lists the provider's models, which is a cheap check of the address and the key.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	call, err := c.Start(ctx)
	if err != nil {
		return nil, err
	}
	limited, cancel := call.Context()
	defer cancel()
	response, err := c.send(limited, call, http.MethodGet, "/models", url.Values{"pageSize": {"1000"}}, nil, http.Header{})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var page struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := wire.DecodeJSON(response.Body, &page); err != nil {
		return nil, call.Fail(nil, err)
	}
	names := make([]string, 0, len(page.Models))
	for _, m := range page.Models {
		names = append(names, strings.TrimPrefix(m.Name, "models/"))
	}
	return names, nil
}
