// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package drive loads the API server with little overhead: request bodies are encoded in advance, responses are not
// decoded, and a watch reads only a few fields.
package drive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
)

// retryDelay is the pause after a 429 of the API server.
const retryDelay = time.Second

// Writers is the number of parallel requests.
const Writers = 50

// Client is a bare client of the API server, without limits.
type Client struct {
	http *http.Client
	base string
}

// NewClient returns a client for an administrator's configuration.
func NewClient(config *rest.Config) (*Client, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	base := config.Host
	if !strings.Contains(base, "://") {
		base = "https://" + base
	}
	return &Client{http: client, base: strings.TrimSuffix(base, "/")}, nil
}

// Write sends a body with POST or PUT and returns the response body.
func (c *Client) Write(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	answer, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	text, err := io.ReadAll(answer)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return text, nil
}

// Open reads a path; the caller closes it.
func (c *Client) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	return c.request(ctx, http.MethodGet, path, nil)
}

// request sends a request and retries after 429, which the API server returns while it installs a new kind.
func (c *Client) request(ctx context.Context, method, path string, body []byte) (io.ReadCloser, error) {
	for {
		request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := c.http.Do(request)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		if response.StatusCode < http.StatusMultipleChoices {
			return response.Body, nil
		}
		text, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		if response.StatusCode != http.StatusTooManyRequests {
			return nil, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
		}
		select {
		case <-time.After(retryDelay):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// CreateAll creates one object for each body, and returns the start time of each request.
func (c *Client) CreateAll(ctx context.Context, path string, bodies [][]byte) ([]time.Time, error) {
	startTimes := make([]time.Time, len(bodies))
	next := make(chan int)
	group, ctx := errgroup.WithContext(ctx)
	for range min(Writers, len(bodies)) {
		group.Go(func() error {
			for i := range next {
				startTimes[i] = time.Now()
				if _, err := c.Write(ctx, http.MethodPost, path, bodies[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(next)
		for i := range bodies {
			select {
			case next <- i:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return startTimes, group.Wait()
}
