// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package bedrock

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// Client calls one provider. It is safe for concurrent use.
type Client = wire.Completer[dialect]

// NewClient returns a client for an endpoint, whose base URL ends before /model.
func NewClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.Path = "/model/MODEL/converse-stream"
	connection, err := wire.Connect(endpoint)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(connection.BaseURL(), "/")
	return &Client{
		Connection: connection, ByEffort: true, Encode: encodeRequest, Read: readReply, Authenticate: wire.SendBearer,
		Address: func(req model.Request, used dialect) (string, url.Values) {
			operation := "/converse-stream"
			if used.whole {
				operation = "/converse"
			}
			return base + "/model/" + httpbinding.EscapePath(req.Model, true) + operation, nil
		},
		List: func(call *wire.Call, header http.Header) ([]string, error) {
			// AWS lists the models on a host of its own.
			return listModels(call, strings.Replace(base, "://bedrock-runtime", "://bedrock", 1)+"/foundation-models", header)
		},
	}, nil
}

// listModels lists the foundation models. An identity that may call models, but not list them, is valid.
func listModels(call *wire.Call, address string, header http.Header) ([]string, error) {
	var page struct {
		Models []struct {
			ID string `json:"modelId"`
		} `json:"modelSummaries"`
	}
	err := call.Get(address, url.Values{"byOutputModality": {"TEXT"}}, header, &page)
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
