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

// KeySource returns the API key when it is needed, so that a rotated Secret is used at once and no key is kept. An empty
// key sends no Authorization header.
type KeySource func(ctx context.Context) (string, error)

// Endpoint is where and how to reach a provider. Nothing is taken from the environment.
type Endpoint struct {
	// BaseURL ends before /chat/completions, for example https://api.example.com/v1.
	BaseURL string
	// Key may be nil for a provider that needs none.
	Key KeySource
	// Timeout bounds a whole call; 0 is DefaultTimeout.
	Timeout time.Duration
	// HTTPClient carries the calls; nil is one with a connection pool of its own, which reaches this machine, too.
	HTTPClient *http.Client
}

// DefaultTimeout bounds a call when the endpoint does not say. Long answers of slow models fit in it.
const DefaultTimeout = 10 * time.Minute

// Bounds of what is read, so that a broken or malicious provider cannot fill the memory. A stream repeats a few hundred bytes with
// every token, so it may be long; what it amounts to is bounded by maxText.
const (
	maxStreamBytes = 64 << 20
	maxWholeBytes  = 4 << 20
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

// NewClient makes a client for an endpoint.
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
	// The services are made directly and not by openai.NewClient, which would read OPENAI_* from the environment. A
	// retry is the caller's state with a time, not a goroutine that sleeps in here.
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

// Host is the host of the endpoint, with its port if that is not the scheme's.
func (c *Client) Host() string { return c.host }

// NewHTTPClient makes an HTTP client whose pool keeps enough connections for many calls at once to one host. It follows no redirect,
// which would carry the key and the conversation to somebody else.
func NewHTTPClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Complete calls the model and returns the whole reply. While the reply streams in, listen (which may be nil) is called
// with each piece, on this goroutine. Every error is an *Error.
func (c *Client) Complete(ctx context.Context, req Request, listen func(Delta)) (Reply, error) {
	key, err := c.key(ctx)
	if err != nil {
		return Reply{}, err
	}
	if listen == nil {
		listen = func(Delta) {}
	}
	for {
		spoken := c.dialects.of(req.Model)
		reply, err := c.try(ctx, key, req, spoken, listen)
		if err != nil && c.dialects.learn(req.Model, spoken, err) {
			continue
		}
		if err != nil {
			return Reply{}, err
		}
		return reply, nil
	}
}

// Models lists the models that the provider has: a cheap way to see that the address and the key are right.
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
		return nil, c.sortError(ctx, key, response, err)
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
		return "", &Error{Kind: NoKey, Message: "read the API key: " + shorten(err.Error())}
	}
	return key, nil
}

// try makes one HTTP request in the given dialect.
func (c *Client) try(ctx context.Context, key string, req Request, spoken dialect, listen func(Delta)) (Reply, error) {
	body, err := translate(req, spoken)
	if err != nil {
		return Reply{}, &Error{Kind: BadRequest, Message: shorten(err.Error())}
	}
	limited, cancel := context.WithTimeout(ctx, c.endpoint.Timeout)
	defer cancel()

	var response *http.Response
	options := []option.RequestOption{option.WithRequestBody("application/json", body), option.WithResponseBodyInto(&response)}
	if key != "" {
		options = append(options, option.WithAPIKey(key))
	}
	if req.IdempotencyKey != "" {
		options = append(options, option.WithHeader("Idempotency-Key", req.IdempotencyKey+spoken.suffix()))
	}
	if _, err = c.service.New(limited, openai.ChatCompletionNewParams{}, options...); err != nil {
		return Reply{}, c.sortError(ctx, key, response, err)
	}
	defer response.Body.Close()
	reply, err := readReply(response.Body, listen)
	if err != nil {
		return Reply{}, c.sortError(ctx, key, nil, err)
	}
	reply.ToolCalls = settleCalls(reply.ToolCalls, reply.FinishReason, req.Messages)
	return reply, nil
}

// readReply reads a reply in whichever form it comes. Providers are not reliable in their Content-Type, but an event
// stream never begins with a brace and a JSON reply always does.
func readReply(body io.ReadCloser, listen func(Delta)) (Reply, error) {
	buffered := bufio.NewReader(body)
	first, err := firstByte(buffered)
	if err != nil {
		return Reply{}, err
	}
	if first == '{' {
		return readWhole(buffered, listen)
	}
	return readStream(buffered, body, listen)
}

// firstByte skips white space and looks at the first byte after it.
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

// limitBody bounds every response body that is read, after it was decompressed, and turns redirects away.
func limitBody(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil || res.Body == nil {
		return res, err
	}
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		_ = res.Body.Close() // nothing of it is used
		return nil, &Error{Kind: NotAllowed, StatusCode: res.StatusCode,
			Message: "the provider redirects, which is not followed: set baseURL to where it is"}
	case res.StatusCode >= 400:
		res.Body = outbound.Beginning(res.Body, maxErrorBytes)
	case req.Method == http.MethodGet:
		res.Body = outbound.Body(res.Body, maxModelsBytes)
	default:
		res.Body = outbound.Body(res.Body, maxStreamBytes)
	}
	return res, nil
}
