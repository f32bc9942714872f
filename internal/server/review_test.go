// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/internal/streams"
)

const streamPath = "/api/stream?namespace=default"

type openedStream struct {
	code   int
	header http.Header
	body   io.Reader
	leave  func()
}

// openStream requests a stream with a token, and keeps it open until the test ends.
func openStream(t *testing.T, page *httptest.Server, token string) openedStream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page.URL+streamPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = response.Body.Close() })
	return openedStream{response.StatusCode, response.Header, response.Body, cancel}
}

func serve(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	page := httptest.NewServer(handler)
	t.Cleanup(func() { page.CloseClientConnections(); page.Close() })
	return page
}

func TestStreamNeedsAValidToken(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	limiter := streams.NewLimiter(streams.Limits{})
	page := serve(t, New(Options{Identity: Tokens(u.config, false), Streams: limiter}))
	response := openStream(t, page, "expired")
	if response.code != http.StatusUnauthorized || response.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %d %s", response.code, response.header.Get("Content-Type"))
	}
	if got := limiter.Stats(); got.Open != 0 {
		t.Errorf("%d streams are open", got.Open)
	}
	for _, request := range u.requests() {
		if !strings.HasSuffix(request, "/selfsubjectreviews") {
			t.Errorf("asked %s", request)
		}
	}
}

func TestStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	page := serve(t, newSite(Options{Identity: Tokens(u.config, false)}, retryPolicy{first: time.Millisecond, max: time.Millisecond, review: 5 * time.Millisecond}))
	response := openStream(t, page, knownToken)
	if response.code != http.StatusOK {
		t.Fatalf("got %d", response.code)
	}
	u.expireToken(knownToken)
	if _, err := io.Copy(io.Discard, response.body); err != nil {
		t.Errorf("the stream did not end in order: %v", err)
	}
}

func TestStreamsAreCounted(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	limiter := streams.NewLimiter(streams.Limits{Total: 3, PerUser: 2})
	page := serve(t, New(Options{Identity: Tokens(u.config, false), Streams: limiter}))
	refused := func(token, why string) {
		t.Helper()
		response := openStream(t, page, token)
		var status metav1.Status
		if err := json.NewDecoder(response.body).Decode(&status); err != nil {
			t.Fatal(err)
		}
		if response.code != http.StatusTooManyRequests || response.header.Get("Retry-After") == "" || !strings.Contains(status.Message, why) {
			t.Errorf("got %d, retry after %q: %s", response.code, response.header.Get("Retry-After"), status.Message)
		}
	}
	first := openStream(t, page, knownToken)
	openStream(t, page, knownToken)
	refused(knownToken, "for one person")
	if response := openStream(t, page, otherToken); response.code != http.StatusOK {
		t.Errorf("another person got %d", response.code)
	}
	refused(otherToken, "of this server")
	first.leave()
	for {
		// The server notices the closed connection a moment later.
		response := openStream(t, page, knownToken)
		if response.code == http.StatusOK {
			break
		}
		if response.code != http.StatusTooManyRequests {
			t.Fatalf("after one was closed: got %d", response.code)
		}
	}
}

func TestSigningInAcceptsOnlyJSON(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	got := ask(t, u.tokenSite(), http.MethodPost, "/api/login", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") })
	if got.Code != http.StatusUnsupportedMediaType || got.Header().Get("Set-Cookie") != "" {
		t.Errorf("got %d with %q", got.Code, got.Header().Get("Set-Cookie"))
	}
}
