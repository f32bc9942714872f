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
	*wire.Connection

	address  string // with the version of the API
	client   *http.Client
	dialects wire.Dialects[dialect]
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
	return &Client{Connection: connection, address: address, client: connection.HTTPClient()}, nil
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
	header := http.Header{"Content-Type": {"application/json"}}
	if req.IdempotencyKey != "" {
		header.Set("Idempotency-Key", req.IdempotencyKey+used.suffix())
	}
	request, err := c.request(limited, http.MethodPost, modelPath(req.Model)+":streamGenerateContent", url.Values{"alt": {"sse"}}, bytes.NewReader(body))
	if err != nil {
		return model.Reply{}, call.Fail(nil, err)
	}
	response, err := c.send(call, request, header)
	if err != nil {
		return model.Reply{}, err
	}
	defer response.Body.Close()
	reply, err := readReply(response.Body, req, listen)
	if err != nil {
		return model.Reply{}, call.Fail(nil, err)
	}
	return reply, nil
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

// request returns a request with the query of the endpoint and another one.
func (c *Client) request(ctx context.Context, method, path string, query url.Values, body io.Reader) (*http.Request, error) {
	all := url.Values{}
	maps.Copy(all, c.Query())
	maps.Copy(all, query)
	return http.NewRequestWithContext(ctx, method, c.address+path+"?"+all.Encode(), body)
}

// send sends a request with the key and the headers of a call. The error is a *model.Error.
func (c *Client) send(call *wire.Call, request *http.Request, header http.Header) (*http.Response, error) {
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
	request, err := c.request(limited, http.MethodGet, "/models", url.Values{"pageSize": {"1000"}}, nil)
	if err != nil {
		return nil, call.Fail(nil, err)
	}
	response, err := c.send(call, request, http.Header{})
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
