// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// DefaultBaseURL is the base URL of an endpoint that has none.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Client calls one provider. It is safe for concurrent use.
type Client = wire.Completer[dialect]

// place is where Google serves the models: the Gemini API or Vertex AI.
type place struct {
	api model.API
	// models is the base address of the models, and listed the address of their list.
	models, listed string
	path           func(name string) string
	authenticate   func(call *wire.Call, header http.Header)
	// prefix begins the names in the list.
	prefix string
}

// apiVersion matches the last element of a base URL that has the version of the API.
var apiVersion = regexp.MustCompile(`^v\d+[a-z0-9]*$`)

// NewClient returns a client for an endpoint. Its base URL may end with the version of the API, such as /v1beta, or
// before it.
func NewClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.BaseURL = cmp.Or(endpoint.BaseURL, DefaultBaseURL)
	endpoint.Path = "/v1beta/models"
	return connect(endpoint, func(address string) place {
		if !apiVersion.MatchString(path.Base(address)) {
			address += "/v1beta"
		}
		return place{model.Gemini, address, address + "/models", modelPath, sendKey, "models/"}
	})
}

// NewVertexClient returns a client for Vertex AI. The base URL of its endpoint ends with
// /projects/PROJECT/locations/LOCATION, and its key is an access token.
func NewVertexClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.Path = "/publishers/google/models"
	return connect(endpoint, func(address string) place {
		host, _, _ := strings.Cut(address, "/v1/projects/")
		return place{model.Vertex, address, host + "/v1beta1/publishers/google/models", vertexPath, wire.SendBearer, "publishers/google/models/"}
	})
}

func connect(endpoint wire.Endpoint, placeAt func(address string) place) (*Client, error) {
	connection, err := wire.Connect(endpoint)
	if err != nil {
		return nil, err
	}
	at := placeAt(strings.TrimSuffix(connection.BaseURL(), "/"))
	return &Client{
		Connection: connection, ByEffort: true, Authenticate: at.authenticate, List: at.list,
		Encode: func(req model.Request, used dialect) ([]byte, error) { return encodeRequest(req, used, at.api) },
		Address: func(req model.Request, _ dialect) (string, url.Values) {
			return at.models + at.path(req.Model) + ":streamGenerateContent", url.Values{"alt": {"sse"}}
		},
		Read: func(body io.ReadCloser, req model.Request, listen func(model.Delta)) (model.Reply, error) {
			return readReply(body, req, at.api, listen)
		},
	}, nil
}

func sendKey(call *wire.Call, header http.Header) {
	if call.Key != "" {
		header.Set("X-Goog-Api-Key", call.Key)
	}
}

var modelKind = regexp.MustCompile(`^[a-zA-Z]+$`)

// modelPath returns the path of a model. A name without a kind, such as tunedModels/, is one of models.
func modelPath(name string) string {
	kind, rest, ok := strings.Cut(name, "/")
	if !ok || !modelKind.MatchString(kind) {
		kind, rest = "models", name
	}
	return "/" + kind + "/" + url.PathEscape(rest)
}

// vertexPath returns the path of a Google model, or of an endpoint if the name is endpoints/ID.
func vertexPath(name string) string {
	if id, ok := strings.CutPrefix(name, "endpoints/"); ok {
		return "/endpoints/" + url.PathEscape(id)
	}
	return "/publishers/google/models/" + url.PathEscape(name)
}

// list lists the models. On Vertex AI, an identity that may call models, but not list them, is valid.
func (p place) list(call *wire.Call, header http.Header) ([]string, error) {
	type entry struct {
		Name string `json:"name"`
	}
	var page struct {
		Models          []entry `json:"models"`
		PublisherModels []entry `json:"publisherModels"`
	}
	err := call.Get(p.listed, url.Values{"pageSize": {"1000"}}, header, &page)
	if refusal := new(model.Error); errors.As(err, &refusal) && strings.Contains(refusal.Message, "aiplatform.publisherModels") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range slices.Concat(page.Models, page.PublisherModels) {
		names = append(names, strings.TrimPrefix(m.Name, p.prefix))
	}
	return names, nil
}
