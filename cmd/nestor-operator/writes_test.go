// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// slowServer leaves one request without an answer until it is told to give it.
type slowServer struct {
	asked  chan string
	slow   string
	answer chan struct{}
}

func (s slowServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked <- r.Method
	if r.Method == s.slow {
		<-s.answer
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func TestOnlySomeWritesAreOnTheirWayAtOnce(t *testing.T) {
	const tasks = "/apis/nestor.dev/v1alpha1/namespaces/a/agenttasks"
	server := slowServer{asked: make(chan string, 9), slow: http.MethodPost, answer: make(chan struct{})}
	client := fewWrites{next: server, turns: make(chan struct{}, 1)}
	ended := make(chan error, 9)
	send := func(ctx context.Context, method, path string) {
		request := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader("{}"))
		go func() {
			_, err := client.RoundTrip(request) //nolint:bodyclose // it has none
			ended <- err
		}()
	}
	asks := func(want string) {
		t.Helper()
		if got := <-server.asked; got != want {
			t.Errorf("the server is asked to %s, want %s", got, want)
		}
	}
	send(t.Context(), http.MethodPost, tasks)
	asks(http.MethodPost)

	hasty, leave := context.WithCancel(t.Context())
	send(hasty, http.MethodPut, tasks+"/one/status")
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a write that was given up while it waited ended with %v", err)
	}
	send(t.Context(), http.MethodDelete, tasks+"/one") // it waits, and the next two pass it
	send(t.Context(), http.MethodGet, tasks)
	asks(http.MethodGet)
	send(t.Context(), http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/a/leases/nestor")
	asks(http.MethodPut)

	close(server.answer)
	asks(http.MethodDelete)
	for range 4 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
