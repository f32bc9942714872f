// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	// requestTimeout limits a request to the token endpoint.
	requestTimeout = 20 * time.Second
	// maxEarly is how long before its expiry a token is renewed, or the last tenth of its lifetime if that is shorter.
	maxEarly = time.Minute
	// defaultLifetime is how long a token is used if the endpoint does not limit it.
	defaultLifetime = time.Hour
	// retryAfter is the pause after a failed request, so that many agents do not send one request after the other.
	retryAfter = 5 * time.Second
	// refusedEvery is the minimum time between two replacements of refused tokens, so that a server that refuses every
	// token does not cause a request for each call.
	refusedEvery = 30 * time.Second
)

// Client is a client that is registered with an authorization server.
type Client struct {
	TokenURL string
	ID       string
	// Secret reads the client secret. It is called for each use, so that a changed secret takes effect at once.
	Secret func(context.Context) (string, error)
	Scopes []string
	// Audience, a parameter of several vendors, and Resource (RFC 8707) are sent if they are not empty.
	Audience, Resource string
}

// Source provides the access tokens of a client. It is safe for concurrent use.
type Source struct {
	client Client
	http   http.RoundTripper

	mu        sync.Mutex
	secret    string // the one that the fields below belong to
	token     *token // nil if there is none
	failed    error  // of the last request, or nil
	failedAt  time.Time
	refusedAt time.Time // when a refused token was last replaced
	request   *request  // in flight, or nil
}

type token struct {
	value          string
	renew, expires time.Time
}

// request is a request to the token endpoint that is in flight. The fields are set when done is closed.
type request struct {
	done  chan struct{}
	token *token
	err   error
}

// NewSource returns a source without a token. Requests are sent with transport, which must restrict the addresses.
func NewSource(client Client, transport http.RoundTripper) *Source {
	return &Source{client: client, http: transport}
}

// Token returns a token that has not expired, from the endpoint if needed. An error of the endpoint is an *[Error].
func (s *Source) Token(ctx context.Context) (string, error) {
	secret, err := s.client.Secret(ctx)
	if err != nil {
		return "", err
	}
	now := time.Now()
	s.mu.Lock()
	if secret != s.secret {
		// The token of a request in flight is discarded, because it has the old secret.
		s.secret, s.token, s.failed, s.refusedAt, s.request = secret, nil, nil, time.Time{}, nil
	}
	usable := s.token != nil && now.Before(s.token.expires)
	switch {
	case usable && now.Before(s.token.renew):
		defer s.mu.Unlock()
		return s.token.value, nil
	case s.request == nil && s.failed != nil && now.Before(s.failedAt.Add(retryAfter)):
		defer s.mu.Unlock()
		if usable {
			return s.token.value, nil
		}
		return "", s.failed
	}
	old, flight := s.token, s.startRequest(ctx, secret)
	s.mu.Unlock()
	select {
	case <-flight.done:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	switch {
	case flight.err == nil:
		return flight.token.value, nil
	case usable:
		return old.value, nil
	}
	return "", flight.err
}

// Refused is called with a token that a server refused. It reports whether [Source.Token] can return another one.
func (s *Source) Refused(value string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == nil || s.token.value != value {
		return true // it was replaced meanwhile
	}
	if !s.refusedAt.IsZero() && time.Since(s.refusedAt) < refusedEvery {
		return false
	}
	s.token, s.refusedAt = nil, time.Now()
	return true
}

// startRequest returns the request in flight, or starts one, which continues if its first caller goes away. The caller
// holds the lock.
func (s *Source) startRequest(ctx context.Context, secret string) *request {
	if s.request != nil {
		return s.request
	}
	flight := &request{done: make(chan struct{})}
	s.request = flight
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	go func() {
		defer cancel()
		flight.token, flight.err = s.client.fetch(ctx, s.http, secret)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.request == flight {
			s.request, s.failed, s.failedAt = nil, flight.err, time.Now()
			if flight.err == nil {
				s.token = flight.token
			}
		}
		close(flight.done)
	}()
	return flight
}
