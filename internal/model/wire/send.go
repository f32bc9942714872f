// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// SendBearer adds the key of a call, if it has one, to a header as a bearer token.
func SendBearer(call *Call, header http.Header) {
	if call.Key != "" {
		header.Set("Authorization", "Bearer "+call.Key)
	}
}

// Post sends a JSON body to an address. The error is a *model.Error.
func (c *Call) Post(ctx context.Context, address string, query url.Values, header http.Header, body []byte) (*http.Response, error) {
	header.Set("Content-Type", "application/json")
	return c.send(ctx, http.MethodPost, address, query, header, bytes.NewReader(body))
}

// Get reads a JSON object from an address. The error is a *model.Error.
func (c *Call) Get(address string, query url.Values, header http.Header, into any) error {
	limited, cancel := c.Context()
	defer cancel()
	response, err := c.send(limited, http.MethodGet, address, query, header, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := DecodeJSON(response.Body, into); err != nil {
		return c.Fail(nil, err)
	}
	return nil
}

// GetModels reads a list of models in the form that OpenAI and Anthropic share, and returns their names.
func (c *Call) GetModels(address string, query url.Values, header http.Header) ([]string, error) {
	var page struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := c.Get(address, query, header, &page); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(page.Data))
	for _, m := range page.Data {
		names = append(names, m.ID)
	}
	return names, nil
}

// send adds the endpoint's query and headers, which take precedence over those of the API.
func (c *Call) send(ctx context.Context, method, address string, query url.Values, header http.Header, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, c.Fail(nil, err)
	}
	all := maps.Clone(c.connection.query)
	maps.Copy(all, query)
	request.URL.RawQuery = all.Encode()
	request.Header = header
	header.Set("User-Agent", "nestor")
	for name, values := range c.Header {
		header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	hideFromTransport(header)
	if err := c.sign(request); err != nil {
		return nil, c.Fail(nil, err)
	}
	response, err := c.connection.client.Do(request)
	if err != nil {
		return nil, c.Fail(nil, err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		defer response.Body.Close()
		return nil, c.Fail(response, fmt.Errorf("status %d", response.StatusCode))
	}
	return response, nil
}

func (c *Call) sign(request *http.Request) error {
	if c.signature == nil {
		return nil
	}
	digest, err := bodyDigest(request)
	if err != nil {
		return err
	}
	return c.signature.Sign(request, digest)
}

// hideFromTransport spells the idempotency key in lower case. If a connection that was used before breaks without a
// response, net/http sends a request with this header again, unless the name is not in its canonical form. The provider
// may have made the call, and charged for it.
func hideFromTransport(header http.Header) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := header[name]; ok {
			delete(header, name)
			header[strings.ToLower(name)] = values
		}
	}
}
