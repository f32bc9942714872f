// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/health"
)

func TestPagesShareState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cache stateCache
		var reads atomic.Int32
		alice := newStateKey(&rest.Config{BearerToken: "alice"}, "team")
		get := func(key stateKey) {
			problems, err := cache.get(key, func() ([]health.Problem, error) {
				<-time.After(100 * time.Millisecond)
				reads.Add(1)
				return []health.Problem{{Message: "It fails."}}, nil
			})
			if err != nil || len(problems) != 1 {
				t.Errorf("got %v, %v", problems, err)
			}
		}
		for range 5 {
			go get(alice)
		}
		synctest.Wait()
		get(alice)
		if reads.Load() != 1 {
			t.Errorf("%d reads for six pages at the same time", reads.Load())
		}
		<-time.After(stateTTL + time.Millisecond)
		get(alice)
		if reads.Load() != 2 {
			t.Errorf("%d reads after the state has expired, want 2", reads.Load())
		}
		for _, other := range []stateKey{
			newStateKey(&rest.Config{BearerToken: "bob"}, "team"), newStateKey(&rest.Config{BearerToken: "alice"}, "other"),
			newStateKey(&rest.Config{BearerToken: "alice", Impersonate: rest.ImpersonationConfig{UserName: "bob"}}, "team"),
		} {
			before := reads.Load()
			get(other)
			if reads.Load() != before+1 {
				t.Error("another person or namespace has the same state")
			}
		}
		<-time.After(stateTTL + time.Millisecond)
		get(alice)
		if len(cache.states) != 1 {
			t.Errorf("%d states are kept, want 1", len(cache.states))
		}
	})
}

func TestAnErrorIsNotKept(t *testing.T) {
	var cache stateCache
	key := newStateKey(&rest.Config{}, "team")
	if _, err := cache.get(key, func() ([]health.Problem, error) { return nil, errors.New("unauthorized") }); err == nil {
		t.Error("an error is lost")
	}
	if _, err := cache.get(key, func() ([]health.Problem, error) { return nil, nil }); err != nil {
		t.Errorf("got %v from an earlier request", err)
	}
}
