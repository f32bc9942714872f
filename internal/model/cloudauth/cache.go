// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cloudauth

import (
	"context"
	"fmt"
	"time"

	"github.com/nestor-dev/nestor/internal/model"
)

// requestTimeout limits how long a caller waits for credentials: for its own request, and for those of others before
// it.
const requestTimeout = 20 * time.Second

// early is how long before their expiry credentials are replaced, but not before half of their life.
const early = 5 * time.Minute

// cache holds the credentials for one set of secrets.
type cache[T any] struct {
	lock    chan struct{} // a lock that a caller can stop waiting for
	secrets string
	value   T
	until   time.Time
}

func newCache[T any]() *cache[T] { return &cache[T]{lock: make(chan struct{}, 1)} }

// get returns the credentials for secrets, and fetches them if needed. Concurrent callers share one request.
func (c *cache[T]) get(ctx context.Context, secrets string, fetch func(context.Context) (T, time.Time, error)) (T, error) {
	var none T
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	select {
	case c.lock <- struct{}{}:
		defer func() { <-c.lock }()
	case <-ctx.Done():
		if caller.Err() != nil {
			return none, caller.Err()
		}
		return none, failed(model.Transient, "there are no credentials after %s", requestTimeout)
	}
	now := time.Now()
	if c.secrets == secrets && now.Before(c.until) {
		return c.value, nil
	}
	value, expires, err := fetch(ctx)
	if err != nil {
		return none, err
	}
	c.secrets, c.value, c.until = secrets, value, expires.Add(-min(early, expires.Sub(now)/2))
	return value, nil
}

func failed(kind model.Kind, format string, args ...any) *model.Error {
	return &model.Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
