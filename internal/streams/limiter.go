// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package streams bounds the open streams of a server: a stream takes memory for as long as its reader keeps it open, so there
// are limits per user and in total.
package streams

import (
	"fmt"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// retrySeconds is the Retry-After of a refused client.
const retrySeconds = 5

// Limits bound the concurrent streams. 0 means no limit.
type Limits struct {
	Total, PerUser int
}

type Stats struct {
	// Open is the number of open streams, Refused the number of refused ones since the start.
	Open, Refused int
}

type Limiter struct {
	limits Limits

	mu      sync.Mutex
	byUser  map[string]int
	open    int
	refused int
}

func NewLimiter(limits Limits) *Limiter {
	return &Limiter{limits: limits, byUser: map[string]int{}}
}

// Open counts a stream of a user until release is called. It returns an error with status 429 if there are too many.
func (l *Limiter) Open(user string) (release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.limits.PerUser > 0 && l.byUser[user] >= l.limits.PerUser:
		l.refused++
		return nil, tooMany(fmt.Sprintf("You have %d streams open, which is the limit for one person: close a page or a command that follows something.", l.limits.PerUser))
	case l.limits.Total > 0 && l.open >= l.limits.Total:
		l.refused++
		return nil, tooMany(fmt.Sprintf("%d streams are open, which is the limit of this server: try again later.", l.limits.Total))
	}
	l.open++
	l.byUser[user]++
	return sync.OnceFunc(func() { l.release(user) }), nil
}

func (l *Limiter) release(user string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.byUser[user]--
	if l.byUser[user] == 0 {
		delete(l.byUser, user) // keep no entries of users without streams
	}
}

func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{Open: l.open, Refused: l.refused}
}

func tooMany(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests, Message: message,
		Details: &metav1.StatusDetails{RetryAfterSeconds: retrySeconds},
	}}
}
