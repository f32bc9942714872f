// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/outbound"
)

// KeySource returns the API key. It is called for each model call, so that a rotated Secret is used at once and no
// key is cached. An empty key sends no header.
type KeySource func(ctx context.Context) (string, error)

// Endpoint describes how to reach a provider. Nothing is taken from the environment.
type Endpoint struct {
	// BaseURL ends before the path of the API, for example https://api.example.com/v1. Its query is sent with each
	// request.
	BaseURL string
	// Path is the path of a call under BaseURL, for messages.
	Path string
	// Key may be nil for a provider that needs none.
	Key KeySource
	// Signature returns what signs the requests of a call, for an API whose key is not sent; nil means that they are
	// not signed. Like the key, it is read for each call.
	Signature func(ctx context.Context) (*Signature, error)
	// Header returns additional headers of each request; nil means none.
	Header func(ctx context.Context) (http.Header, error)
	// Timeout bounds a whole call; 0 means DefaultTimeout.
	Timeout time.Duration
	// HTTPClient sends the requests; nil means a client with its own connection pool, which may also connect to
	// loopback addresses.
	HTTPClient *http.Client
}

// Signature signs requests.
type Signature struct {
	// Sign adds headers to a complete request whose body has a SHA-256 digest, in hexadecimal form.
	Sign func(request *http.Request, bodyDigest string) error
	// Token is a part of the credentials that is sent, or empty.
	Token string
}

// DefaultTimeout is the default bound of a call. It fits long answers of slow models.
const DefaultTimeout = 10 * time.Minute

// Connection is the connection to one provider. It is safe for concurrent use.
type Connection struct {
	endpoint Endpoint
	url      url.URL // without the query
	query    url.Values
	client   *http.Client
}

// Connect checks an endpoint and returns a connection to it. No request is sent.
func Connect(endpoint Endpoint) (*Connection, error) {
	u, err := url.Parse(endpoint.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the provider's base URL must be an http or https address such as https://api.example.com/v1")
	}
	if endpoint.Timeout <= 0 {
		endpoint.Timeout = DefaultTimeout
	}
	if endpoint.HTTPClient == nil {
		endpoint.HTTPClient = NewHTTPClient(outbound.New(outbound.Options{AllowLoopback: true}))
	}
	query := u.Query()
	u.RawQuery, u.Fragment = "", ""
	client := *endpoint.HTTPClient
	client.Transport = limitedTransport{client.Transport}
	return &Connection{endpoint: endpoint, url: *u, query: query, client: &client}, nil
}

// Host returns the host of the endpoint, with its port if that is not the scheme's default.
func (c *Connection) Host() string { return c.url.Host }

// BaseURL returns the base URL of the endpoint, without its query.
func (c *Connection) BaseURL() string { return c.url.String() }

// HTTPClient returns a copy of the client that sends the requests. It bounds the bodies of responses and rejects
// redirects.
func (c *Connection) HTTPClient() *http.Client {
	client := *c.client
	return &client
}

type Call struct {
	// Key is the API key, or empty. Header are the additional headers of the request.
	Key    string
	Header http.Header

	signature  *Signature // nil if requests are not signed
	connection *Connection
	caller     context.Context // its end is not a failure of the provider
}

// Start reads the key and the headers for a call.
func (c *Connection) Start(ctx context.Context) (*Call, error) {
	call := &Call{connection: c, caller: ctx}
	var err error
	if c.endpoint.Key != nil {
		call.Key, err = c.endpoint.Key(ctx)
	}
	if c.endpoint.Signature != nil && err == nil {
		call.signature, err = c.endpoint.Signature(ctx)
	}
	if c.endpoint.Header != nil && err == nil {
		call.Header, err = c.endpoint.Header(ctx)
	}
	if ctx.Err() != nil {
		return nil, model.NewCancelled(ctx)
	}
	if typed := new(model.Error); errors.As(err, &typed) {
		return nil, typed
	}
	if err != nil {
		return nil, &model.Error{Kind: model.NoKey, Message: "read the API key: " + Line(err.Error())}
	}
	return call, nil
}

func (c *Call) Host() string { return c.connection.Host() }

// Context returns a context for one request of the call, with the endpoint's timeout.
func (c *Call) Context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.caller, c.connection.endpoint.Timeout)
}

// NewHTTPClient returns an HTTP client whose pool has enough connections for many parallel calls to one host. It does
// not follow redirects, which could send the key and the conversation to another server.
func NewHTTPClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Bounds of responses, so that a broken or malicious provider cannot exhaust the memory. A stream has a few hundred
// bytes of overhead per token, so it may be long; its content is bounded by MaxText.
const (
	maxStreamBytes = 64 << 20
	maxModelsBytes = 4 << 20
	maxErrorBytes  = 64 << 10
)

// limitedTransport records the digest of every body that is sent, bounds every response body after decompression, and
// rejects redirects.
type limitedTransport struct{ http.RoundTripper }

func (t limitedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	next := t.RoundTripper
	if next == nil {
		next = http.DefaultTransport
	}
	if sent := model.SentFrom(req.Context()); sent != nil && req.GetBody != nil {
		digest, err := bodyDigest(req)
		if err != nil {
			return nil, err
		}
		sent.BodyDigest = digest
	}
	res, err := next.RoundTrip(req)
	if err != nil || res.Body == nil {
		return res, err
	}
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		_ = res.Body.Close() // the body is not needed
		return nil, &model.Error{Kind: model.NotAllowed, StatusCode: res.StatusCode,
			Message: "the provider redirects, which is not followed: set baseURL to the target of the redirect"}
	case res.StatusCode >= 400:
		res.Body = outbound.TruncateBody(res.Body, maxErrorBytes)
	case req.Method == http.MethodGet:
		res.Body = outbound.LimitBody(res.Body, maxModelsBytes)
	default:
		res.Body = outbound.LimitBody(res.Body, maxStreamBytes)
	}
	return res, nil
}

// bodyDigest hashes a second reader of the body. All clients keep the encoded request in memory for GetBody, so that
// hashing copies nothing.
func bodyDigest(req *http.Request) (string, error) {
	sum := sha256.New()
	if req.GetBody == nil {
		return hex.EncodeToString(sum.Sum(nil)), nil
	}
	body, err := req.GetBody()
	if err != nil {
		return "", err
	}
	_, err = io.Copy(sum, body)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, body.Close())
}
