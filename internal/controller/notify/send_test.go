// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nestor-dev/nestor/internal/outbound"
	"github.com/nestor-dev/nestor/internal/push"
)

var aTask = types.NamespacedName{Namespace: "team", Name: "task"}

func newSender(allowLoopback bool) *Sender {
	keys := &push.Keyring{Secrets: fake.NewClientset().CoreV1().Secrets("nestor-system"), Name: "keys"}
	return NewSender(keys, "https://nestor-gateway.nestor-system.svc", outbound.Options{AllowLoopback: allowLoopback, PublicOnly: true})
}

func sealed(t *testing.T, s *Sender, url string, secrets push.Secrets) push.Config {
	t.Helper()
	keys, err := s.Keys.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config, err := keys.Seal(aTask.Namespace, aTask.Name, push.Config{ID: "a", URL: url}, secrets)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestHeaders(t *testing.T) {
	var got http.Header
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer receiver.Close()
	s := newSender(true)
	if result := s.send(t.Context(), aTask, sealed(t, s, receiver.URL, push.Secrets{Token: "t0ken"}), []byte("{}")); result != (outcome{}) {
		t.Fatal(result)
	}
	if got.Get("X-A2A-Notification-Token") != "t0ken" || got.Get("A2A-Notification-Token") != "t0ken" || strings.Count(got.Get("Authorization"), ".") != 2 {
		t.Errorf("headers %v", got)
	}
	if result := s.send(t.Context(), aTask, sealed(t, s, receiver.URL, push.Secrets{Scheme: "Basic", Credentials: "eDp5"}), []byte("{}")); result != (outcome{}) {
		t.Fatal(result)
	}
	if got.Get("Authorization") != "Basic eDp5" || strings.Count(got.Get(SignatureHeader), ".") != 2 || got.Get("A2A-Notification-Token") != "" {
		t.Errorf("headers %v", got)
	}
}

// TestHostileReceivers has receivers that refuse, redirect, answer without end, or do not answer.
func TestHostileReceivers(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer inside.Close()
	stop := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, inside.URL, http.StatusTemporaryRedirect)
		case "/huge":
			for range 64 << 10 {
				if _, err := w.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
			t.Error("the whole reply of 256 MiB was read")
		case "/hangs":
			<-stop
		case "/busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer receiver.Close()
	defer close(stop)
	s := newSender(true)
	for path, want := range map[string]outcome{
		"/redirect": undelivered("the receiver answered with status 307: redirects are not followed"),
		"/huge":     {},
		"/busy":     undelivered("the receiver answered with status 503"),
		"/refused":  undelivered("the receiver answered with status 403"),
		"/hangs":    undelivered("the receiver did not answer in time"),
	} {
		timeout := time.Minute
		if path == "/hangs" {
			timeout = 50 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		if got := s.send(ctx, aTask, push.Config{ID: "a", URL: receiver.URL + path}, []byte("{}")); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
		cancel()
	}
}

// TestOutcomesDoNotShowPorts compares what is recorded for receivers that are closed, that do not speak TLS, that
// refuse, and that must not be reached.
func TestOutcomesDoNotShowPorts(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	open := httptest.NewServer(http.NotFoundHandler())
	defer open.Close()
	s := newSender(true)
	for name, url := range map[string]string{
		"closed": closed.URL, "status 404": open.URL, "no TLS": strings.Replace(open.URL, "http:", "https:", 1), "no such name": "https://nestor.invalid/",
	} {
		got := s.send(t.Context(), aTask, push.Config{ID: "a", URL: url}, []byte("{}"))
		if got.failure != notDelivered || got.final || got.cause == "" || got.result() != "failed" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// A name is checked when a connection is made, after the URL was accepted.
	inside := connectionFailure(&outbound.NotAllowedError{Address: "10.0.0.1", Reason: "a private address"})
	if inside.failure != notDelivered || inside.final {
		t.Errorf("a private address: %+v", inside)
	}
}

func TestResultsOfAttempts(t *testing.T) {
	for want, o := range map[string]outcome{"delivered": {}, "failed": {failure: "status 500"}, "refused": {failure: "status 403", final: true}} {
		if got := o.result(); got != want {
			t.Errorf("%+v is %s, want %s", o, got, want)
		}
	}
}

// TestFailuresContainNoSecrets checks what readers of the task see.
func TestFailuresContainNoSecrets(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	loose, strict := newSender(true), newSender(false)
	stolen := sealed(t, loose, closed.URL, push.Secrets{Token: "t0ken"})
	stolen.URL = "http://127.0.0.1:1/?key=hidden"
	for name, got := range map[string]outcome{
		"closed":   loose.send(t.Context(), aTask, sealed(t, loose, closed.URL+"/?key=hidden", push.Secrets{Token: "t0ken"}), nil),
		"stolen":   loose.send(t.Context(), aTask, stolen, nil),
		"loopback": strict.send(t.Context(), aTask, push.Config{ID: "a", URL: "https://127.0.0.1/?key=hidden"}, nil),
		"metadata": strict.send(t.Context(), aTask, push.Config{ID: "a", URL: "https://169.254.169.254/?key=hidden"}, nil),
		"plain":    strict.send(t.Context(), aTask, push.Config{ID: "a", URL: "http://client.example.com/?key=hidden"}, nil),
	} {
		if got.failure == "" || strings.Contains(got.failure, "hidden") || strings.Contains(got.failure, "t0ken") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
