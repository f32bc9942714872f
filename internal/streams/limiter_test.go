// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package streams_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/internal/streams"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	l := streams.NewLimiter(streams.Limits{Total: 3, PerUser: 2})
	open := func(user string) func() {
		t.Helper()
		release, err := l.Open(user)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	refused := func(user, why string) {
		t.Helper()
		_, err := l.Open(user)
		if seconds, ok := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !ok || seconds == 0 || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: got %v", user, err)
		}
	}
	first := open("alice")
	open("alice")
	refused("alice", "for one person")
	open("bob")
	refused("carol", "of this server")
	first()
	first() // a repeated release has no effect
	open("carol")
	refused("alice", "of this server")
	if got := l.Stats(); got != (streams.Stats{Open: 3, Refused: 3}) {
		t.Errorf("got %+v", got)
	}
}

func TestZeroLimitsRefuseNothing(t *testing.T) {
	t.Parallel()
	l := streams.NewLimiter(streams.Limits{})
	for range 100 {
		if _, err := l.Open("alice"); err != nil {
			t.Fatal(err)
		}
	}
}
