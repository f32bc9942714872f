// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package bedrock

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// Client calls one provider. It is safe for concurrent use.
type Client struct{ wire.Completer[dialect] }

// NewClient returns a client for an endpoint, whose base URL ends before /model.
func NewClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.Path = "/model/MODEL/converse-stream"
	connection, err := wire.Connect(endpoint)
	if err != nil {
		return nil, err
	}
	c := &Client{}
	c.Completer = wire.Completer[dialect]{Connection: connection, ByEffort: true, Encode: encodeRequest, Send: c.send, Read: readReply}
	return c, nil
}

func (c *Client) send(ctx context.Context, call *wire.Call, req model.Request, used dialect, body []byte, header http.Header) (*http.Response, error) {
	authenticate(call, header)
	operation := "/converse-stream"
	if used.whole {
		operation = "/converse"
	}
	address := strings.TrimSuffix(c.BaseURL(), "/") + "/model/" + httpbinding.EscapePath(req.Model, true) + operation
	return call.Post(ctx, address, nil, header, body)
}

// authenticate adds an API key. A call without one is signed.
func authenticate(call *wire.Call, header http.Header) {
	if call.Key != "" {
		header.Set("Authorization", "Bearer "+call.Key)
	}
}

// Models lists the foundation models, which is a cheap check of the address and the credentials. An identity that may call models, but
// not list them, is valid.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	call, err := c.Start(ctx)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	authenticate(call, header)
	var page struct {
		Models []struct {
			ID string `json:"modelId"`
		} `json:"modelSummaries"`
	}
	err = call.Get(listAddress(c.BaseURL()), url.Values{"byOutputModality": {"TEXT"}}, header, &page)
	if refusal := new(model.Error); errors.As(err, &refusal) && strings.Contains(refusal.Message, "not authorized to perform") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(page.Models))
	for _, m := range page.Models {
		names = append(names, m.ID)
	}
	return names, nil
}

// listAddress returns the address of the list of models, which is on a host of its own at AWS.
func listAddress(base string) string {
	return strings.TrimSuffix(strings.Replace(base, "://bedrock-runtime", "://bedrock", 1), "/") + "/foundation-models"
}
