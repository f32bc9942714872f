// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/listen"
)

const (
	// MaxBody bounds the body of a request: the longest instruction, with room for attachments and escapes.
	MaxBody = 2 << 20
	// maxToken bounds a bearer token.
	maxToken = 16 << 10
	// reviewInterval is how often the token of an open request is checked.
	reviewInterval = time.Minute
)

// Mux adds the paths of a door.
type Mux struct {
	routes  *http.ServeMux
	door    Door
	options Options
}

// Handle serves a pattern of [http.ServeMux] for callers with a valid token. The body is read only for these.
func (m *Mux) Handle(pattern string, handle Handler) {
	m.HandleUnread(pattern, func(w http.ResponseWriter, r *http.Request) error {
		caller, release, err := m.admit(r)
		if apierrors.IsUnauthorized(err) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="nestor"`)
		}
		if err != nil {
			return err
		}
		defer release()
		if err := listen.ReadBody(w, r, MaxBody, listen.BodyTimeout); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go endWithToken(ctx, cancel, caller.StillValid)
		return handle(w, r.WithContext(ctx), caller)
	})
}

// HandlePublic serves a pattern for everyone.
func (m *Mux) HandlePublic(pattern string, handle func(http.ResponseWriter, *http.Request) error) {
	m.HandleUnread(pattern, func(w http.ResponseWriter, r *http.Request) error {
		if err := listen.ReadBody(w, r, MaxBody, listen.BodyTimeout); err != nil {
			return err
		}
		return handle(w, r)
	})
}

// HandleUnread serves a pattern for everyone, with an unread body. The handler may call [listen.ReadBody].
func (m *Mux) HandleUnread(pattern string, handle func(http.ResponseWriter, *http.Request) error) {
	m.routes.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		recorder := &codeRecorder{ResponseWriter: w}
		defer func() {
			if value := recover(); value != nil && value != http.ErrAbortHandler { //nolint:errorlint // a panic's value is compared as net/http does
				ctrl.Log.WithName("gateway").Error(fmt.Errorf("panic: %v", value), "A request failed", "door", m.door.Name(), "stack", string(debug.Stack()))
				if recorder.code == 0 {
					m.door.WriteError(recorder, apierrors.NewInternalError(errors.New("the gateway has a defect; its log has the details")))
				}
			}
			m.options.OnRequest(m.door.Name(), recorder.code, time.Since(began))
		}()
		if err := handle(recorder, r); err != nil {
			m.door.WriteError(recorder, err)
		}
	})
}

var ErrNoToken = apierrors.NewUnauthorized("Send a valid token of the cluster: Authorization: Bearer TOKEN.")

// admit returns the caller of a request, and counts the request until release is called.
func (m *Mux) admit(r *http.Request) (_ *run.Caller, release func(), err error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); token == "" || !strings.EqualFold(scheme, "Bearer") {
		return nil, nil, ErrNoToken
	}
	if len(token) > maxToken {
		return nil, nil, apierrors.NewUnauthorized(fmt.Sprintf("The token has more than %d characters.", maxToken))
	}
	caller, err := m.options.Callers.Connect(r.Context(), token)
	if apierrors.IsUnauthorized(err) {
		return nil, nil, ErrNoToken // the API server's own message is one word
	}
	if err != nil {
		return nil, nil, err
	}
	release, err = m.options.Streams.Open(caller.User)
	return caller, release, err
}

// endWithToken ends a request whose token is no longer valid.
func endWithToken(ctx context.Context, end context.CancelFunc, valid func(context.Context) bool) {
	ticker := time.NewTicker(reviewInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if !valid(ctx) {
				end()
				return
			}
		}
	}
}

// protect refuses requests from web pages of other sites, and adds headers that prevent pages from embedding
// responses.
func protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		if origin := r.Header.Get("Origin"); origin != "" && origin != "https://"+r.Host && origin != "http://"+r.Host {
			WriteJSON(w, http.StatusForbidden, map[string]string{"error": "requests of web pages of other sites are refused"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// codeRecorder records the status of a response.
type codeRecorder struct {
	http.ResponseWriter
	code int
}

func (c *codeRecorder) WriteHeader(code int) {
	if c.code == 0 {
		c.code = code
	}
	c.ResponseWriter.WriteHeader(code)
}

func (c *codeRecorder) Write(body []byte) (int, error) {
	if c.code == 0 {
		c.code = http.StatusOK
	}
	return c.ResponseWriter.Write(body)
}

// Unwrap is for http.ResponseController, and Flush for libraries that need an http.Flusher.
func (c *codeRecorder) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *codeRecorder) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }
