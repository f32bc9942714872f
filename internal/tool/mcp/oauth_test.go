// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/outbound/oauth"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// authorization is an authorization server, and the check of its tokens for an MCP server.
type authorization struct {
	*httptest.Server
	mu     sync.Mutex
	secret string
	status int // of the answers, if not 0
	issued int
	valid  map[string]bool // nil if the server accepts none of the tokens
	// refused counts the requests with a bad token, by their method.
	refused map[string]int
}

const tokenPrefix = "issued-token-"

func startAuthorization(t *testing.T) *authorization {
	t.Helper()
	a := &authorization{secret: secret, valid: map[string]bool{}, refused: map[string]int{}}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

// ServeHTTP issues tokens.
func (a *authorization) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, password, _ := r.BasicAuth()
	switch {
	case a.status != 0:
		w.WriteHeader(a.status)
	case password != a.secret:
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":"%s is not the secret"}`, password)
	default:
		a.issued++
		token := fmt.Sprintf("%s%d", tokenPrefix, a.issued)
		if a.valid != nil {
			a.valid[token] = true
		}
		fmt.Fprintf(w, `{"access_token":"%s","token_type":"Bearer","expires_in":3600}`, token)
	}
}

// guard passes on only requests with a valid token.
func (a *authorization) guard(w http.ResponseWriter, r *http.Request, method string, next http.Handler) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	a.mu.Lock()
	ok := a.valid[token]
	if !ok {
		a.refused[method]++
	}
	a.mu.Unlock()
	if !ok {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		http.Error(w, `{"error":"`+token+` has expired"}`, http.StatusUnauthorized)
		return
	}
	next.ServeHTTP(w, r)
}

func (a *authorization) revoke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.valid)
}

func (a *authorization) change(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

func (a *authorization) counts() (issued, refusedCalls int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.issued, a.refused["tools/call"]
}

// client returns the client of the authorization server, with its secret in a variable.
func (a *authorization) client(secret *atomic.Value) *oauth.Client {
	return &oauth.Client{TokenURL: a.URL + "/token", ID: "nestor", Secret: func(context.Context) (string, error) { return secret.Load().(string), nil }}
}

// counter returns a tool that changes something, and the number of its effects.
func counter() (func(*sdk.Server), *atomic.Int32) {
	var effects atomic.Int32
	return addTool(sdk.Tool{Name: "act"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{text(fmt.Sprintf("effect %d", effects.Add(1)))}}, nil
	}), &effects
}

// protect returns a server that requires tokens, and its description.
func protect(t *testing.T, transport mcp.Transport, a *authorization, tools ...func(*sdk.Server)) (mcp.Server, *atomic.Value) {
	t.Helper()
	h := makeHost(t, transport, lab(tools...))
	h.setIntercept(a.guard)
	config := describe(h, transport)
	var password atomic.Value
	password.Store(secret)
	config.OAuth = a.client(&password)
	return config, &password
}

// TestRefusedTokenIsReplaced: a 401 means that the call was not executed, so even a call that changes something is
// sent again, once, and takes effect once.
func TestRefusedTokenIsReplaced(t *testing.T) {
	for _, transport := range []mcp.Transport{mcp.StreamableHTTP, mcp.SSE} {
		t.Run(string(transport), func(t *testing.T) {
			a := startAuthorization(t)
			act, effects := counter()
			config, _ := protect(t, transport, a, act)
			session := makeClient(t, mcp.Options{}).connect(t, config)
			run(t.Context(), session, "lab__act", `{}`)
			if issued, _ := a.counts(); issued != 1 {
				t.Errorf("%d tokens were requested, want 1", issued)
			}
			a.revoke()
			result := run(t.Context(), session, "lab__act", `{}`)
			issued, refused := a.counts()
			if result.Text != "effect 2" || effects.Load() != 2 || issued != 2 || refused != 1 {
				t.Errorf("%q (%v), %d effects, %d tokens, %d refused calls", result.Text, result.Err, effects.Load(), issued, refused)
			}
		})
	}
}

// TestServerThatRefusesEveryToken must not cause a loop of calls or of requests for tokens.
func TestServerThatRefusesEveryToken(t *testing.T) {
	a := startAuthorization(t)
	act, effects := counter()
	h := makeHost(t, mcp.StreamableHTTP, lab(act))
	var refused atomic.Int32
	h.setIntercept(func(w http.ResponseWriter, r *http.Request, method string, next http.Handler) {
		if method == "tools/call" {
			refused.Add(1)
			http.Error(w, "no "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
	config := describe(h, mcp.StreamableHTTP)
	config.OAuth = a.client(secretValue(secret))
	session := makeClient(t, mcp.Options{}).connect(t, config)
	for range 5 {
		result := run(t.Context(), session, "lab__act", `{}`)
		if !strings.Contains(result.Text, "refuses the credentials") {
			t.Errorf("got %q", result.Text)
		}
		checkNoSecrets(t, result.Text, result.Err)
	}
	if issued, _ := a.counts(); effects.Load() != 0 || refused.Load() != 6 || issued != 2 {
		t.Errorf("%d effects, %d calls, %d tokens; want 0, 6 and 2", effects.Load(), refused.Load(), issued)
	}
}

func secretValue(value string) *atomic.Value {
	var v atomic.Value
	v.Store(value)
	return &v
}

// checkNoSecrets fails if text has the client secret or a token.
func checkNoSecrets(t *testing.T, shown ...any) {
	t.Helper()
	for _, s := range shown {
		if all := fmt.Sprintf("%+v", s); strings.Contains(all, secret) || strings.Contains(all, tokenPrefix) {
			t.Errorf("a secret is shown: %s", all)
		}
	}
}

func TestNamespacesShareTokens(t *testing.T) {
	a := startAuthorization(t)
	act, _ := counter()
	config, password := protect(t, mcp.StreamableHTTP, a, act)
	c := makeClient(t, mcp.Options{})
	session := c.connect(t, config)
	shared := config
	shared.Key.Namespace = "team-b"
	other := c.connect(t, shared)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { run(t.Context(), session, "lab__act", `{}`) })
		group.Go(func() { run(t.Context(), other, "lab__act", `{}`) })
	}
	group.Wait()
	if issued, _ := a.counts(); issued != 1 {
		t.Errorf("%d tokens, want 1", issued)
	}
	a.change(func() { a.secret = "rotated-" + secret })
	password.Store("rotated-" + secret)
	if result := run(t.Context(), other, "lab__act", `{}`); result.Err != nil {
		t.Error(result.Err)
	}
	if issued, _ := a.counts(); issued != 2 {
		t.Errorf("%d tokens after the secret was rotated, want 2", issued)
	}
	// Another revision, and a pool without the server, need tokens of their own.
	config.Revision = "2"
	c.connect(t, config)
	c.Retain(func(mcp.Key) bool { return false })
	c.connect(t, config)
	if issued, _ := a.counts(); issued != 4 {
		t.Errorf("%d tokens after the server was changed and removed, want 4", issued)
	}
}

func TestSessionWithoutToken(t *testing.T) {
	answers := func(status int) func(*authorization, *mcp.Server) {
		return func(a *authorization, _ *mcp.Server) { a.status = status }
	}
	for name, c := range map[string]struct {
		change func(*authorization, *mcp.Server)
		reason mcp.Reason
		want   string
	}{
		"wrong secret": {func(_ *authorization, s *mcp.Server) { s.OAuth.Secret = password("another-" + secret) }, mcp.Unauthorized, "invalid_client): check clientID and the Secret"},
		"no secret": {func(_ *authorization, s *mcp.Server) {
			s.OAuth.Secret = func(context.Context) (string, error) { return "", errors.New("create the Secret") }
		}, mcp.ConnectFailed, "create the Secret"},
		"bad request":  {answers(400), mcp.Unauthorized, "refuses the client (400 Bad Request): check tokenURL"},
		"failing":      {answers(500), mcp.ConnectFailed, "answers 500"},
		"redirect":     {answers(302), mcp.NotAllowed, "redirects"},
		"not OAuth":    {answers(200), mcp.InvalidResponse, "sends no access token"},
		"metadata":     {func(_ *authorization, s *mcp.Server) { s.OAuth.TokenURL = "http://169.254.169.254/token" }, mcp.NotAllowed, "a link-local address"},
		"other server": {func(a *authorization, _ *mcp.Server) { a.valid = nil }, mcp.Unauthorized, "check what the token of auth.oauth is for"},
	} {
		t.Run(name, func(t *testing.T) {
			a := startAuthorization(t)
			config, _ := protect(t, mcp.StreamableHTTP, a)
			a.change(func() { c.change(a, &config) })
			status := makeClient(t, mcp.Options{}).Ensure(config).WaitForStatus(t.Context())
			if status.Reason != c.reason || !strings.Contains(status.Message, c.want) {
				t.Errorf("status is %+v", status)
			}
			checkNoSecrets(t, status)
		})
	}
}

// TestALostTokenFailsCalls: a client that was removed from the authorization server makes the session unready, and
// calls report the reason.
func TestALostTokenFailsCalls(t *testing.T) {
	a := startAuthorization(t)
	act, effects := counter()
	config, _ := protect(t, mcp.StreamableHTTP, a, act)
	c := makeClient(t, mcp.Options{})
	session := c.connect(t, config)
	a.change(func() { a.secret = "removed" })
	a.revoke()
	result := run(t.Context(), session, "lab__act", `{}`)
	if !strings.Contains(result.Text, "refuses the credentials") || errors.Is(result.Err, tool.ErrOutcomeUnknown) || effects.Load() != 0 {
		t.Errorf("got %q, %v", result.Text, result.Err)
	}
	<-c.pauses
	c.resume <- struct{}{}
	status := c.waitFor(t, session, reason(mcp.Unauthorized))
	checkNoSecrets(t, result.Text, result.Err, status)
	a.change(func() { a.secret = secret })
	<-c.pauses
	config.Revision = "2" // or after a pause: the failure of a secret is kept for some seconds
	if result := run(t.Context(), c.connect(t, config), "lab__act", `{}`); result.Text != "effect 1" {
		t.Errorf("got %q, %v", result.Text, result.Err)
	}
}

func password(value string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return value, nil }
}

// TestRetryAfterTheSecretChanged checks that a corrected Secret ends the pause before the next attempt.
func TestRetryAfterTheSecretChanged(t *testing.T) {
	a := startAuthorization(t)
	config, client := protect(t, mcp.StreamableHTTP, a)
	client.Store("wrong")
	c := makeClient(t, mcp.Options{})
	session := c.Ensure(config)
	c.waitFor(t, session, reason(mcp.Unauthorized))
	if attempt := <-c.pauses; attempt != 1 {
		t.Errorf("attempt %d", attempt)
	}
	c.Retry("another revision")
	client.Store(secret)
	c.Retry(config.Revision)
	c.waitFor(t, session, reason(mcp.Connected))
	c.Retry(config.Revision)
	if !session.Status().Ready {
		t.Error("a retry costs the connection")
	}
}

// TestRetryWhileConnecting: the Secret changes after it was read for an attempt, and before that attempt has failed.
func TestRetryWhileConnecting(t *testing.T) {
	a := startAuthorization(t)
	config, _ := protect(t, mcp.StreamableHTTP, a)
	c := makeClient(t, mcp.Options{})
	config.OAuth.Secret = func(context.Context) (string, error) {
		if session, ok := c.Lookup(config.Key); !ok || session.Status().Reason != mcp.Connecting {
			return secret, nil
		}
		c.Retry(config.Revision)
		return "", errors.New("create the Secret")
	}
	c.waitFor(t, c.Ensure(config), reason(mcp.Connected))
}
