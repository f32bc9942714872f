// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/nestor-dev/nestor/internal/outbound"
)

// KeySource returns the API key. It is called for each model call, so that a rotated Secret is used at once and no
// key is cached. An empty key sends no Authorization header.
type KeySource func(ctx context.Context) (string, error)

// Endpoint describes how to reach a provider. Nothing is taken from the environment.
type Endpoint struct {
	// BaseURL ends before /chat/completions, for example https://api.example.com/v1.
	BaseURL string
	// Key may be nil for a provider that needs none.
	Key KeySource
	// Timeout bounds a whole call; 0 means DefaultTimeout.
	Timeout time.Duration
	// HTTPClient sends the requests; nil means a client with its own connection pool, which may also connect to
	// loopback addresses.
	HTTPClient *http.Client
}

// DefaultTimeout is the default bound of a call. It fits long answers of slow models.
const DefaultTimeout = 10 * time.Minute

// Bounds of responses, so that a broken or malicious provider cannot exhaust the memory. A stream has a few hundred
// bytes of overhead per token, so it may be long; its content is bounded by maxText.
const (
	maxStreamBytes = 64 << 20
	maxJSONBytes   = 4 << 20
	maxModelsBytes = 4 << 20
	maxErrorBytes  = 64 << 10
)

// Client calls one provider. It is safe for concurrent use.
type Client struct {
	endpoint Endpoint
	host     string
	service  openai.ChatCompletionService
	models   openai.ModelService
	dialects dialects
}

// NewClient returns a client for an endpoint.
func NewClient(endpoint Endpoint) (*Client, error) {
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
	// The services are created directly, because openai.NewClient would read OPENAI_* from the environment. Retries
	// are left to the caller, which stores their time instead of blocking a goroutine.
	options := []option.RequestOption{
		option.WithBaseURL(endpoint.BaseURL),
		option.WithHTTPClient(endpoint.HTTPClient),
		option.WithMaxRetries(0),
		option.WithMiddleware(limitBody),
	}
	return &Client{
		endpoint: endpoint,
		host:     u.Host,
		service:  openai.NewChatCompletionService(options...),
		models:   openai.NewModelService(options...),
	}, nil
}

// Host returns the host of the endpoint, with its port if that is not the scheme's default.
func (c *Client) Host() string { return c.host }

// NewHTTPClient returns an HTTP client whose pool has enough connections for many parallel calls to one host. It does
// not follow redirects, which could send the key and the conversation to another server.
func NewHTTPClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Complete calls the model and returns the complete reply. While the reply streams in, listen (which may be nil) is
// called with each delta, on this goroutine. Every error is an *Error.
func (c *Client) Complete(ctx context.Context, req Request, listen func(Delta)) (Reply, error) {
	key, err := c.key(ctx)
	if err != nil {
		return Reply{}, err
	}
	if listen == nil {
		listen = func(Delta) {}
	}
	for {
		used := c.dialects.find(req.Model)
		reply, err := c.attempt(ctx, key, req, used, listen)
		if err != nil && c.dialects.update(req.Model, used, err) {
			continue
		}
		if err != nil {
			return Reply{}, err
		}
		return reply, nil
	}
}

// Models lists the provider's models, which is a cheap check of the address and the key.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	key, err := c.key(ctx)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, c.endpoint.Timeout)
	defer cancel()
	var response *http.Response
	page, err := c.models.List(limited, option.WithAPIKey(key), option.WithResponseInto(&response))
	if err != nil {
		return nil, c.classifyError(ctx, key, response, err)
	}
	names := make([]string, 0, len(page.Data))
	for _, m := range page.Data {
		names = append(names, m.ID)
	}
	return names, nil
}

func (c *Client) key(ctx context.Context) (string, error) {
	if c.endpoint.Key == nil {
		return "", nil
	}
	key, err := c.endpoint.Key(ctx)
	if ctx.Err() != nil {
		return "", cancelled(ctx)
	}
	if err != nil {
		return "", &Error{Kind: NoKey, Message: "read the API key: " + providerLine(err.Error())}
	}
	return key, nil
}

// attempt sends one HTTP request in the given dialect.
func (c *Client) attempt(ctx context.Context, key string, req Request, used dialect, listen func(Delta)) (Reply, error) {
	body, err := encodeRequest(req, used)
	if err != nil {
		return Reply{}, &Error{Kind: BadRequest, Message: providerLine(err.Error())}
	}
	limited, cancel := context.WithTimeout(ctx, c.endpoint.Timeout)
	defer cancel()

	var response *http.Response
	options := []option.RequestOption{option.WithRequestBody("application/json", body), option.WithResponseBodyInto(&response)}
	if key != "" {
		options = append(options, option.WithAPIKey(key))
	}
	if req.IdempotencyKey != "" {
		options = append(options, option.WithHeader("Idempotency-Key", req.IdempotencyKey+used.suffix()))
	}
	if _, err = c.service.New(limited, openai.ChatCompletionNewParams{}, options...); err != nil {
		return Reply{}, c.classifyError(ctx, key, response, err)
	}
	defer response.Body.Close()
	reply, err := readReply(response.Body, listen)
	if err != nil {
		return Reply{}, c.classifyError(ctx, key, nil, err)
	}
	reply.ToolCalls = finishCalls(reply.ToolCalls, reply.FinishReason, req.Messages)
	return reply, nil
}

// readReply reads a reply in either form. Providers do not set Content-Type reliably, but an event stream never
// begins with a brace and a JSON reply always does.
func readReply(body io.ReadCloser, listen func(Delta)) (Reply, error) {
	buffered := bufio.NewReader(body)
	first, err := firstByte(buffered)
	if err != nil {
		return Reply{}, err
	}
	if first == '{' {
		return readJSON(buffered, listen)
	}
	return readStream(buffered, body, listen)
}

// firstByte skips white space and peeks at the first byte after it.
func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			return 0, malformed("the provider sent an empty response")
		}
		if err != nil {
			return 0, err
		}
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return b, r.UnreadByte()
	}
}

// limitBody bounds every response body after decompression, and rejects redirects.
func limitBody(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil || res.Body == nil {
		return res, err
	}
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		_ = res.Body.Close() // the body is not needed
		return nil, &Error{Kind: NotAllowed, StatusCode: res.StatusCode,
			Message: "the provider redirects, which is not followed: set baseURL to where it is"}
	case res.StatusCode >= 400:
		res.Body = outbound.TruncateBody(res.Body, maxErrorBytes)
	case req.Method == http.MethodGet:
		res.Body = outbound.LimitBody(res.Body, maxModelsBytes)
	default:
		res.Body = outbound.LimitBody(res.Body, maxStreamBytes)
	}
	return res, nil
}
