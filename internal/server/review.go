// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// reviewTimeout is how long the API server may take to say who somebody is.
const reviewTimeout = 10 * time.Second

// reviewOnce asks who somebody is, before anything is done for them.
func (s *site) reviewOnce(ctx context.Context, config *rest.Config) (user string, err error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	return review(ctx, config)
}

// reviewAgain returns when the API server no longer knows the token, or knows it as somebody else's, or when ctx ends: a stream lasts
// no longer than the token that it was opened with. An API server that does not answer proves nothing; its watches end by themselves.
func (s *site) reviewAgain(ctx context.Context, config *rest.Config, user string) {
	ticker := time.NewTicker(s.pace.review)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now, err := s.reviewOnce(ctx, config)
		if apierrors.IsUnauthorized(err) || err == nil && now != user {
			return
		}
	}
}
