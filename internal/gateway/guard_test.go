// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/listen"
	"github.com/nestor-dev/nestor/internal/streams"
)

const validToken = "valid"

// testDoor returns the size of a body with the caller's name, and panics before or in a response.
type testDoor struct{}

func (testDoor) Name() string { return "test" }

func (testDoor) Routes(mux *Mux) {
	mux.Handle("POST /size", func(w http.ResponseWriter, r *http.Request, caller *run.Caller) error {
		body, err := io.ReadAll(r.Body)
		if err = cmp.Or(err, r.Context().Err()); err != nil {
			return err
		}
		w.Header().Set("Connection", "keep-alive") // as libraries do for streams
		_, _ = fmt.Fprintf(w, "%s %d", caller.User, len(body))
		return nil
	})
	mux.Handle("GET /panic", func(http.ResponseWriter, *http.Request, *run.Caller) error { panic("a secret") })
	mux.Handle("GET /panic-late", func(w http.ResponseWriter, _ *http.Request, _ *run.Caller) error {
		_, _ = io.WriteString(w, "begun")
		panic("a secret")
	})
	mux.Handle("GET /nested", func(w http.ResponseWriter, r *http.Request, _ *run.Caller) error {
		inner := httptest.NewRequestWithContext(r.Context(), http.MethodPost, "/size", http.NoBody)
		inner.Header = r.Header
		mux.routes.ServeHTTP(w, inner)
		return nil
	})
}

func (testDoor) WriteError(w http.ResponseWriter, err error) {
	problem := ProblemOf(err)
	problem.WriteHeaders(w)
	WriteJSON(w, problem.Code, map[string]string{"error": problem.Message})
}

func apiServer(t *testing.T) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodPost || r.URL.Path != "/apis/authentication.k8s.io/v1/selfsubjectreviews":
			http.NotFound(w, r)
		case r.Header.Get("Authorization") != "Bearer "+validToken:
			WriteJSON(w, http.StatusUnauthorized, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized", "message": "Unauthorized", "code": 401})
		default:
			WriteJSON(w, http.StatusCreated, map[string]any{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1",
				"status": map[string]any{"userInfo": map[string]string{"username": "alice"}}})
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

type gate struct {
	*httptest.Server
	mu    sync.Mutex
	codes []int
}

func newGate(t *testing.T, limits streams.Limits) *gate {
	t.Helper()
	g := &gate{}
	g.Server = httptest.NewServer(listen.WithDeadlines(New(Options{
		Callers: run.NewConnector(apiServer(t), "nestor-system"), Streams: streams.NewLimiter(limits), Doors: []Door{testDoor{}},
		OnRequest: func(_ string, code int, _ time.Duration) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.codes = append(g.codes, code)
		},
	})))
	g.Client().Transport.(*http.Transport).ExpectContinueTimeout = time.Hour
	t.Cleanup(g.Close)
	return g
}

type answer struct {
	StatusCode int
	Status     string
	Header     http.Header
}

// do sends a request, and returns the response and its body.
func (g *gate) do(t *testing.T, method, path, body string, headers ...string) (answer, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, g.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	// The body is sent when it is read: the end of the connection must not reach the client before the response does.
	req.Header.Set("Expect", "100-continue")
	got, err := g.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{got.StatusCode, got.Status, got.Header}, string(text)
}

// doAsAlice is do with a valid token.
func (g *gate) doAsAlice(t *testing.T, method, path, body string, headers ...string) (answer, string) {
	t.Helper()
	return g.do(t, method, path, body, append(headers, "Authorization", "Bearer "+validToken)...)
}

func TestTokens(t *testing.T) {
	g := newGate(t, streams.Limits{})
	for name, authorization := range map[string]string{
		"no token": "", "no scheme": validToken, "another scheme": "Basic " + validToken, "only a scheme": "Bearer ", "an invalid token": "Bearer no",
		"a long token": "Bearer " + strings.Repeat("a", maxToken+1),
	} {
		got, body := g.do(t, http.MethodPost, "/size", "", "Authorization", authorization)
		if got.StatusCode != http.StatusUnauthorized || got.Header.Get("WWW-Authenticate") != `Bearer realm="nestor"` {
			t.Errorf("%s: %s, %v, %s", name, got.Status, got.Header, body)
		}
		if name != "a long token" && !strings.Contains(body, "Send a valid token of the cluster") {
			t.Errorf("%s: the response does not say what to do: %s", name, body)
		}
	}
	for _, scheme := range []string{"Bearer ", "bearer "} {
		if got, body := g.do(t, http.MethodPost, "/size", "four", "Authorization", scheme+validToken); got.StatusCode != http.StatusOK || body != "alice 4" {
			t.Errorf("%s: %s, %s", scheme, got.Status, body)
		}
	}
}

func TestOrigins(t *testing.T) {
	g := newGate(t, streams.Limits{})
	own := g.URL
	for origin, want := range map[string]int{
		"": http.StatusOK, own: http.StatusOK, "https://" + strings.TrimPrefix(own, "http://"): http.StatusOK, "https://other.example": http.StatusForbidden,
		"null": http.StatusForbidden, own + ".other.example": http.StatusForbidden, own + "0": http.StatusForbidden,
	} {
		for _, path := range []string{"/size", "/"} {
			method := http.MethodPost
			if path == "/" {
				method = http.MethodGet
			}
			var headers []string
			if origin != "" {
				headers = []string{"Origin", origin}
			}
			got, body := g.doAsAlice(t, method, path, "", headers...)
			if got.StatusCode != want {
				t.Errorf("%s of %q: %s, %s", path, origin, got.Status, body)
			}
			if got.Header.Get("Access-Control-Allow-Origin") != "" || got.Header.Get("X-Content-Type-Options") != "nosniff" || got.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s of %q: headers %v", path, origin, got.Header)
			}
		}
	}
}

func TestLargeBodies(t *testing.T) {
	g := newGate(t, streams.Limits{})
	if got, body := g.doAsAlice(t, http.MethodPost, "/size", strings.Repeat("a", MaxBody)); got.StatusCode != http.StatusOK {
		t.Errorf("the largest body: %s, %s", got.Status, body)
	}
	got, body := g.doAsAlice(t, http.MethodPost, "/size", strings.Repeat("a", MaxBody+1))
	if got.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(body, fmt.Sprint(MaxBody)) {
		t.Errorf("a larger one: %s, %s", got.Status, body)
	}
}

func TestPanics(t *testing.T) {
	g := newGate(t, streams.Limits{PerUser: 1})
	for range 3 { // each would keep the only place if it were not released
		got, body := g.doAsAlice(t, http.MethodGet, "/panic", "")
		if got.StatusCode != http.StatusInternalServerError || strings.Contains(body, "secret") {
			t.Errorf("a panic: %s, %s", got.Status, body)
		}
	}
	if got, body := g.doAsAlice(t, http.MethodGet, "/panic-late", ""); got.StatusCode != http.StatusOK || body != "begun" {
		t.Errorf("a panic in a response: %s, %s", got.Status, body)
	}
	if got, body := g.doAsAlice(t, http.MethodPost, "/size", ""); got.StatusCode != http.StatusOK {
		t.Errorf("after panics: %s, %s", got.Status, body)
	}
	g.Close() // waits for the requests
	g.mu.Lock()
	defer g.mu.Unlock()
	if want := "[500 500 500 200 200]"; fmt.Sprint(g.codes) != want {
		t.Errorf("recorded %v, want %s", g.codes, want)
	}
}

func TestRequestsPerCallerAreLimited(t *testing.T) {
	g := newGate(t, streams.Limits{PerUser: 1})
	if got, body := g.doAsAlice(t, http.MethodGet, "/nested", ""); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a second request while one is served: %s, %s", got.Status, body)
	}
}

func TestUnknownPaths(t *testing.T) {
	if got, body := newGate(t, streams.Limits{}).do(t, http.MethodGet, "/unknown", ""); got.StatusCode != http.StatusNotFound || !strings.Contains(body, "/unknown") {
		t.Errorf("%s, %s", got.Status, body)
	}
}
