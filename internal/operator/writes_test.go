// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/kubewrites"
)

// busyServer delays its responses to POSTs until it is released, and responds to everything else at once.
type busyServer struct {
	asked  chan string
	answer chan struct{}
}

func (s busyServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked <- r.Method
	if r.Method == http.MethodPost {
		<-s.answer
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// body is empty and records that it was closed.
type body struct{ closed bool }

func (*body) Read([]byte) (int, error) { return 0, io.EOF }
func (b *body) Close() error           { b.closed = true; return nil }

func TestConcurrentWritesAreBounded(t *testing.T) {
	const tasks = "http://api/apis/nestor.dev/v1beta1/namespaces/a/agenttasks"
	synctest.Test(t, func(t *testing.T) {
		config := &rest.Config{}
		limitWrites(config, 2)
		server := busyServer{asked: make(chan string, 9), answer: make(chan struct{})}
		client := config.WrapTransport(server)
		ended := make(chan error, 9)
		send := func(ctx context.Context, method, url string, asked int) *body {
			t.Helper()
			b := &body{}
			request, err := http.NewRequestWithContext(ctx, method, url, b)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				_, err := client.RoundTrip(request) //nolint:bodyclose // no body
				ended <- err
			}()
			synctest.Wait()
			if len(server.asked) != asked {
				t.Errorf("after a %s of %s the server received %d requests, want %d", method, url, len(server.asked), asked)
			}
			return b
		}
		send(t.Context(), http.MethodPost, tasks, 1)
		send(t.Context(), http.MethodPost, tasks, 2)
		send(t.Context(), http.MethodDelete, tasks+"/one", 2) // waits
		hasty, leave := context.WithCancel(t.Context())
		givenUp := send(hasty, http.MethodPut, tasks+"/one/status", 2)
		leave()
		if err := <-ended; !errors.Is(err, context.Canceled) || !givenUp.closed {
			t.Errorf("a write that was cancelled while it waited ended with %v, its body closed: %t", err, givenUp.closed)
		}
		send(t.Context(), http.MethodGet, tasks, 3)
		send(t.Context(), http.MethodPut, "http://api/apis/coordination.k8s.io/v1/namespaces/a/leases/nestor", 4)
		close(server.answer)
		synctest.Wait()
		if len(server.asked) != 5 {
			t.Errorf("the server received %d requests, want 5: the waiting write is next", len(server.asked))
		}
		for range 5 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestCreationsOfWorkAreStarts(t *testing.T) {
	const api = "http://api/apis/nestor.dev/v1beta1/namespaces/a/"
	for request, want := range map[string]kubewrites.Kind{
		"POST agenttasks": kubewrites.Start, "POST subagents": kubewrites.Start, "POST agentmessages": kubewrites.Result,
		"PUT subagents/one/status": kubewrites.Result, "DELETE agenttasks/subagents": kubewrites.Result,
	} {
		method, resource, _ := strings.Cut(request, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, api+resource, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := writeKind(r); got != want {
			t.Errorf("%s is of the kind %d, want %d", request, got, want)
		}
	}
}

func TestWithoutALimitWritesAdapt(t *testing.T) {
	if limit := limitWrites(&rest.Config{}, 0).Stats().Limit; limit == 0 {
		t.Error("no write passes the gate")
	}
}
