// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nestor-dev/nestor/internal/outbound"
	"github.com/nestor-dev/nestor/internal/outbound/oauth"
)

// endpoint is a token endpoint without a network, so that it works in a bubble of synctest. It issues token-1, token-2
// and so on.
type endpoint struct {
	mu     sync.Mutex
	forms  []url.Values
	logins []string
	issued int
	// answer, if set, replaces the response.
	answer func(w http.ResponseWriter)
	life   string // expires_in
	gate   chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (e *endpoint) RoundTrip(request *http.Request) (*http.Response, error) {
	if e.gate != nil {
		select {
		case <-e.gate:
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	id, secret, _ := request.BasicAuth()
	e.forms, e.logins = append(e.forms, form), append(e.logins, id+":"+secret)
	w := httptest.NewRecorder()
	if e.answer != nil {
		e.answer(w)
	} else {
		e.issued++
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"bearer"%s}`, e.issued, e.life)
	}
	return w.Result(), nil
}

func (e *endpoint) setAnswer(answer func(w http.ResponseWriter)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = answer
}

func (e *endpoint) requests() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.forms)
}

func client(secret *atomic.Value) oauth.Client {
	return oauth.Client{TokenURL: "https://login.example.com/token", ID: "nestor", Secret: func(context.Context) (string, error) { return secret.Load().(string), nil }}
}

func newSecret(value string) *atomic.Value {
	var v atomic.Value
	v.Store(value)
	return &v
}

func wantToken(t *testing.T, source *oauth.Source, want string) {
	t.Helper()
	if got, err := source.Token(t.Context()); got != want || err != nil {
		t.Errorf("the token is %q (%v), want %q", got, err, want)
	}
}

func TestTheRequestFollowsTheStandard(t *testing.T) {
	e := &endpoint{}
	c := client(newSecret("a b:c%"))
	c.ID, c.Scopes, c.Audience, c.Resource = "id:1", []string{"read", "write"}, "tools", "https://tools.example.com/mcp"
	wantToken(t, oauth.NewSource(c, e), "token-1")
	want := "audience=tools&grant_type=client_credentials&resource=https%3A%2F%2Ftools.example.com%2Fmcp&scope=read+write"
	if got := e.forms[0].Encode(); got != want {
		t.Errorf("the form is %s, want %s", got, want)
	}
	// RFC 6749, section 2.3.1: both parts are encoded as in a form, so that a colon in the ID does not end it.
	if want := "id%3A1:a+b%3Ac%25"; e.logins[0] != want {
		t.Errorf("the login is %s, want %s", e.logins[0], want)
	}
	wantToken(t, oauth.NewSource(client(newSecret("s")), e), "token-2")
	if got := e.forms[1].Encode(); got != "grant_type=client_credentials" {
		t.Errorf("the form without options is %s", got)
	}
}

func TestTokensAreRenewedEarly(t *testing.T) {
	for _, c := range []struct {
		life          string
		still, passed time.Duration
	}{
		{`,"expires_in":3600`, 58 * time.Minute, 2 * time.Minute},
		{`,"expires_in":"100"`, 89 * time.Second, 2 * time.Second},
		{``, 58 * time.Minute, 2 * time.Minute},
		{`,"expires_in":null`, 58 * time.Minute, 2 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := &endpoint{life: c.life}
			source := oauth.NewSource(client(newSecret("s")), e)
			wantToken(t, source, "token-1")
			time.Sleep(c.still) //nolint:forbidigo // the time of a bubble
			wantToken(t, source, "token-1")
			time.Sleep(c.passed) //nolint:forbidigo // the time of a bubble
			wantToken(t, source, "token-2")
		})
	}
}

func TestOldTokenServesDuringOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{life: `,"expires_in":600`}
		source := oauth.NewSource(client(newSecret("s")), e)
		wantToken(t, source, "token-1")
		e.setAnswer(func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) })
		time.Sleep(9*time.Minute + 30*time.Second) //nolint:forbidigo // the time of a bubble
		wantToken(t, source, "token-1")
		wantToken(t, source, "token-1")
		if got := e.requests(); got != 2 {
			t.Errorf("%d requests, want 2: a failure is not repeated at once", got)
		}
		time.Sleep(time.Minute) //nolint:forbidigo // the time of a bubble
		if token, err := source.Token(t.Context()); err == nil {
			t.Errorf("the expired token %s is used", token)
		}
		e.setAnswer(nil)
		if _, err := source.Token(t.Context()); err == nil {
			t.Error("a failure is repeated at once")
		}
		time.Sleep(5 * time.Second) //nolint:forbidigo // the time of a bubble
		wantToken(t, source, "token-2")
	})
}

func TestConcurrentCallsShareARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{gate: make(chan struct{})}
		source := oauth.NewSource(client(newSecret("s")), e)
		first, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := source.Token(first)
			left <- err
		}()
		synctest.Wait()
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() { wantToken(t, source, "token-1") })
		}
		synctest.Wait()
		leave() // the request continues for the others
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the caller that left got %v", err)
		}
		close(e.gate)
		group.Wait()
		if got := e.requests(); got != 1 {
			t.Errorf("%d requests, want 1", got)
		}
	})
}

func TestChangedSecretIsUsedImmediately(t *testing.T) {
	e, secret := &endpoint{}, newSecret("old")
	source := oauth.NewSource(client(secret), e)
	wantToken(t, source, "token-1")
	secret.Store("new")
	wantToken(t, source, "token-2")
	wantToken(t, source, "token-2")
	if got := strings.Join(e.logins, " "); got != "nestor:old nestor:new" {
		t.Errorf("the logins are %s", got)
	}
	// A failure with the old secret says nothing about the new one.
	e.setAnswer(func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) })
	secret.Store("wrong")
	if _, err := source.Token(t.Context()); err == nil {
		t.Fatal("the token of the old secret is used")
	}
	e.setAnswer(nil)
	secret.Store("right")
	wantToken(t, source, "token-3")
}

// A request that began with the old secret ends after the secret has changed: its token must not be kept.
func TestOldSecretTokenIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, secret := &endpoint{gate: make(chan struct{})}, newSecret("old")
		source := oauth.NewSource(client(secret), e)
		var group sync.WaitGroup
		token := func() { _, _ = source.Token(t.Context()) }
		group.Go(token)
		synctest.Wait()
		secret.Store("new")
		group.Go(token)
		synctest.Wait()
		e.gate <- struct{}{}
		e.gate <- struct{}{}
		group.Wait()
		for i, login := range e.logins {
			if login == "nestor:new" {
				wantToken(t, source, fmt.Sprintf("token-%d", i+1))
				return
			}
		}
		t.Errorf("the logins are %v", e.logins)
	})
}

func TestRefusedTokenReplacementIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{}
		source := oauth.NewSource(client(newSecret("s")), e)
		wantToken(t, source, "token-1")
		if !source.Refused("token-1") {
			t.Error("the first refused token is not replaced")
		}
		wantToken(t, source, "token-2")
		if !source.Refused("token-1") {
			t.Error("there is another token than token-1")
		}
		if source.Refused("token-2") {
			t.Error("a server that refuses every token causes a request each time")
		}
		wantToken(t, source, "token-2")
		time.Sleep(31 * time.Second) //nolint:forbidigo // the time of a bubble
		if !source.Refused("token-2") {
			t.Error("a refused token is not replaced later")
		}
		wantToken(t, source, "token-3")
	})
}

func TestErrorsHideSecrets(t *testing.T) {
	const secret = "very-secret"
	echo := func(status int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		answer  func(http.ResponseWriter)
		problem oauth.Problem
		want    string
	}{
		"wrong secret": {echo(401, `{"error":"invalid_client","error_description":"very-secret is wrong"}`), oauth.Rejected, "refuses the client (401 invalid_client): check clientID and the Secret in clientSecretKeyRef"},
		"wrong scope":  {echo(400, `{"error":"invalid_scope"}`), oauth.Rejected, "(400 invalid_scope): check scopes"},
		"unknown code": {echo(400, `{"error":"very-secret"}`), oauth.Rejected, "(400 Bad Request): check tokenURL"},
		"not JSON":     {echo(403, `very-secret`), oauth.Rejected, "(403 Forbidden)"},
		"failing":      {echo(503, `very-secret`), oauth.Unreachable, "answers 503"},
		"busy":         {echo(429, ``), oauth.Unreachable, "answers 429"},
		"a page":       {echo(200, `<html>very-secret</html>`), oauth.InvalidResponse, "sends no access token"},
		"no token":     {echo(200, `{"token_type":"bearer"}`), oauth.InvalidResponse, "sends no access token"},
		"other type":   {echo(200, `{"access_token":"very-secret","token_type":"mac"}`), oauth.InvalidResponse, "a type other than Bearer"},
		"line break":   {echo(200, `{"access_token":"a\r\nX-Evil: very-secret","token_type":"bearer"}`), oauth.InvalidResponse, "does not fit into a header"},
		"endless":      {echo(200, `{"access_token":"`+strings.Repeat("very-secret", 8<<10)+`","token_type":"bearer"}`), oauth.InvalidResponse, "sends more than 64 KiB"},
		"redirect": {func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://evil.example.com/very-secret")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, oauth.NotAllowed, "redirects, which is not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &endpoint{answer: c.answer}
			_, err := oauth.NewSource(client(newSecret(secret)), e).Token(t.Context())
			checkError(t, err, c.problem, c.want)
			if e.requests() != 1 {
				t.Errorf("%d requests, want 1", e.requests())
			}
		})
	}
}

func checkError(t *testing.T, err error, problem oauth.Problem, want string) {
	t.Helper()
	var failed *oauth.Error
	if !errors.As(err, &failed) || failed.Problem != problem || !strings.Contains(err.Error(), want) {
		t.Fatalf("%v, want %q with the problem %d", err, want, problem)
	}
	if strings.Contains(err.Error(), "very-secret") {
		t.Errorf("the error has a secret: %v", err)
	}
}

func TestForbiddenAndMissingEndpoints(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	trusted := httptest.NewTLSServer(http.NotFoundHandler())
	defer trusted.Close()
	for name, c := range map[string]struct {
		address  string
		loopback bool
		problem  oauth.Problem
		want     string
	}{
		"loopback":    {closed.URL, false, oauth.NotAllowed, "a loopback address"},
		"metadata":    {"http://169.254.169.254/token", true, oauth.NotAllowed, "a link-local address"},
		"closed":      {closed.URL, true, oauth.Unreachable, "connection refused"},
		"certificate": {trusted.URL, true, oauth.Unreachable, "x509"},
	} {
		t.Run(name, func(t *testing.T) {
			configured := client(newSecret("very-secret"))
			configured.TokenURL = c.address
			_, err := oauth.NewSource(configured, outbound.New(outbound.Options{AllowLoopback: c.loopback})).Token(t.Context())
			checkError(t, err, c.problem, c.want)
		})
	}
}

func TestSlowEndpointIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{gate: make(chan struct{})}
		_, err := oauth.NewSource(client(newSecret("s")), e).Token(t.Context())
		checkError(t, err, oauth.Unreachable, "does not answer in time")
	})
}
