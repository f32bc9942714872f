// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// reviewTimeout limits a SelfSubjectReview.
const reviewTimeout = 10 * time.Second

// authenticate returns the user of a token before anything is done on its behalf.
func (s *site) authenticate(ctx context.Context, config *rest.Config) (user string, err error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	info, err := review(ctx, config)
	return info.Username, err
}

// endWhenTokenExpires returns when the session of the request is over, when the token is no longer valid or belongs to another user, or when
// ctx ends: a stream must not outlive its token. An API server that does not respond proves nothing; its watches end anyway.
func (s *site) endWhenTokenExpires(ctx context.Context, r *http.Request, config *rest.Config, user string) {
	ticker := time.NewTicker(s.retry.review)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if _, err := s.identity.Config(r); errors.Is(err, ErrSignedOut) {
			return
		}
		now, err := s.authenticate(ctx, config)
		if apierrors.IsUnauthorized(err) || err == nil && now != user {
			return
		}
	}
}
