// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
)

// busyServer answers POSTs only when it is told to, and everything else at once.
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

// body is empty, and remembers that it was closed.
type body struct{ closed bool }

func (*body) Read([]byte) (int, error) { return 0, io.EOF }
func (b *body) Close() error           { b.closed = true; return nil }

func TestOnlySomeWritesAreOnTheirWayAtOnce(t *testing.T) {
	const tasks = "http://api/apis/nestor.dev/v1alpha1/namespaces/a/agenttasks"
	o := options{kubeconfig: kubeconfig(t), writes: 2}
	synctest.Test(t, func(t *testing.T) {
		config, err := o.operatorConfig()
		if err != nil {
			t.Fatal(err)
		}
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
				_, err := client.RoundTrip(request) //nolint:bodyclose // it has none
				ended <- err
			}()
			synctest.Wait()
			if len(server.asked) != asked {
				t.Errorf("after a %s of %s the server has been asked %d times, want %d", method, url, len(server.asked), asked)
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
			t.Errorf("a write that was given up while it waited ended with %v, its body closed: %t", err, givenUp.closed)
		}
		send(t.Context(), http.MethodGet, tasks, 3)
		send(t.Context(), http.MethodPut, "http://api/apis/coordination.k8s.io/v1/namespaces/a/leases/nestor", 4)
		close(server.answer)
		synctest.Wait()
		if len(server.asked) != 5 {
			t.Errorf("the server has been asked %d times, want 5: what waited comes next", len(server.asked))
		}
		for range 5 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// What asks for a moment, such as `check`, need not wait for anybody.
func TestOnlyTheOperatorLimitsItsWrites(t *testing.T) {
	o := options{kubeconfig: kubeconfig(t)}
	config, err := o.clientConfig()
	if err != nil {
		t.Fatal(err)
	}
	if config.WrapTransport != nil {
		t.Error("a client that writes little is limited")
	}
	if _, err := o.operatorConfig(); err != nil || o.gate.Stats().Limit == 0 {
		t.Errorf("an operator that is told nothing lets %d writes through: %v", o.gate.Stats().Limit, err)
	}
}

func kubeconfig(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	words := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'http://api'}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"
	if err := os.WriteFile(file, []byte(words), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
