// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/rand"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const testPage = "https://nestor.example.com"

// replica is a page that signs people in at an issuer, with a clock.
type replica struct {
	http.Handler
	identity *oidcIdentity
}

func newReplica(t *testing.T, i *testIssuer, keys ...string) *replica {
	t.Helper()
	return replicaWith(t, i.upstream.config, OIDC{Issuer: i.URL, ClientID: testClient, CAFile: i.caFile, Scopes: []string{"openid"}, SessionLength: time.Hour}, keys...)
}

func replicaWith(t *testing.T, api *rest.Config, options OIDC, keys ...string) *replica {
	t.Helper()
	options.PageURL, options.KeysFile = testPage, filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(options.KeysFile, []byte(strings.Join(keys, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	identity, err := SignInWithOIDC(api, true, options)
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{identity: identity.(*oidcIdentity)}
	r.Handler = newSite(Options{Identity: identity, Namespace: "default"}, retryPolicy{first: time.Millisecond, max: 5 * time.Millisecond, review: 10 * time.Millisecond})
	return r
}

// later makes the replica's clock run ahead.
func (r *replica) later(by time.Duration) {
	r.identity.now = func() time.Time { return time.Now().Add(by) }
}

// browser keeps cookies by name.
type browser struct {
	t       *testing.T
	cookies map[string]*http.Cookie
}

func newBrowser(t *testing.T) *browser { return &browser{t: t, cookies: map[string]*http.Cookie{}} }

func (b *browser) send(to http.Handler, method, path string, edit func(*http.Request)) *httptest.ResponseRecorder {
	b.t.Helper()
	got := ask(b.t, to, method, path, func(r *http.Request) {
		r.Header.Del("Authorization")
		for _, cookie := range b.cookies {
			r.AddCookie(cookie)
		}
		if edit != nil {
			edit(r)
		}
	})
	for _, cookie := range got.Result().Cookies() {
		if cookie.MaxAge < 0 {
			delete(b.cookies, cookie.Name)
		} else {
			b.cookies[cookie.Name] = cookie
		}
	}
	return got
}

// begin starts a sign-in, and returns the request to the issuer.
func (b *browser) begin(r *replica, path string) url.Values {
	b.t.Helper()
	got := b.send(r, http.MethodGet, signInPath+"?return="+url.QueryEscape(path), nil)
	to, err := url.Parse(got.Header().Get("Location"))
	if got.Code != http.StatusSeeOther || err != nil || to.Query().Get("state") == "" {
		b.t.Fatalf("got %d to %q: %s", got.Code, to, got.Body)
	}
	return to.Query()
}

// comeBack follows the issuer's redirect, and returns where the page leads.
func (b *browser) comeBack(r http.Handler, query url.Values) string {
	b.t.Helper()
	got := b.send(r, http.MethodGet, callbackPath+"?"+query.Encode(), func(q *http.Request) {
		q.Header.Set("Sec-Fetch-Site", "cross-site")
		q.Header.Set("Sec-Fetch-Mode", "navigate")
	})
	if got.Code != http.StatusSeeOther {
		b.t.Fatalf("got %d: %s", got.Code, got.Body)
	}
	return got.Header().Get("Location")
}

func answer(request url.Values, code string) url.Values {
	return url.Values{"state": {request.Get("state")}, "code": {code}}
}

// signIn signs alice in.
func (b *browser) signIn(r *replica, i *testIssuer) {
	b.t.Helper()
	request := b.begin(r, "/alice")
	if to := b.comeBack(r, answer(request, i.authorize(request))); to != "/alice" {
		b.t.Fatalf("it leads to %q", to)
	}
	b.expectUser(r, "alice")
}

// expectUser checks who is signed in; empty is no one. It returns the reason.
func (b *browser) expectUser(r http.Handler, user string) (message string) {
	b.t.Helper()
	got := b.send(r, http.MethodGet, whoamiPath, nil)
	if user == "" && (got.Code != http.StatusUnauthorized || got.Header().Get("Nestor-Sign-In") != SignInOIDC) ||
		user != "" && (got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"user":"`+user+`"`)) {
		b.t.Errorf("got %d %s, want the user %q", got.Code, got.Body, user)
	}
	return got.Body.String()
}

func newKey() string { return rand.Text() + rand.Text() }

func setUp(t *testing.T) (*testIssuer, *replica, *browser) {
	t.Helper()
	i := newTestIssuer(t, newUpstream(t))
	return i, newReplica(t, i, newKey()), newBrowser(t)
}

func TestOIDCSessionIsStrictAndSealed(t *testing.T) {
	t.Parallel()
	i, r, b := setUp(t)
	request := b.begin(r, "/")
	if request.Get("code_challenge_method") != "S256" || request.Get("nonce") == "" || request.Get("redirect_uri") != testPage+callbackPath {
		t.Errorf("the request to the issuer is %v", request)
	}
	b.signIn(r, i)
	if len(b.cookies) != 1 {
		t.Fatalf("got the cookies %v", b.cookies)
	}
	cookie := b.cookies["__Host-nestor-session"]
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" || cookie.MaxAge > 3600 || strings.Contains(cookie.Value, ".") {
		t.Errorf("the cookie is not strict: %v", cookie)
	}
	got := i.upstream.last(t).Header
	if !strings.HasPrefix(got.Get("Authorization"), "Bearer eyJ") || got.Get("Impersonate-User") != "" {
		t.Errorf("the API server received %v", got)
	}
}

func TestOIDCLargeSessionsAreRefused(t *testing.T) {
	t.Parallel()
	i, r, b := setUp(t)
	groups := strings.Repeat("x", 2000)
	i.claims = map[string]any{"groups": groups}
	b.signIn(r, i)
	if b.cookies["__Host-nestor-session-2"] == nil {
		t.Error("the session was not divided")
	}
	i.claims = nil
	b.signIn(r, i)
	if b.cookies["__Host-nestor-session-2"] != nil {
		t.Error("the end of a larger session was left")
	}
	i.claims = map[string]any{"groups": groups + groups + groups}
	other := newBrowser(t)
	request := other.begin(r, "/")
	other.comeBack(r, answer(request, i.authorize(request)))
	if reason := other.expectUser(r, ""); !strings.Contains(reason, "fewer groups") {
		t.Errorf("got %s", reason)
	}
}

func TestOIDCReplicasShareSessions(t *testing.T) {
	t.Parallel()
	i := newTestIssuer(t, newUpstream(t))
	oldKey, key := newKey(), newKey()
	first, second, rotated, foreign := newReplica(t, i, oldKey), newReplica(t, i, oldKey), newReplica(t, i, key, oldKey), newReplica(t, i, key)
	b := newBrowser(t)
	request := b.begin(first, "/")
	b.comeBack(second, answer(request, i.authorize(request)))
	b.expectUser(first, "alice")
	b.expectUser(rotated, "alice")
	b.expectUser(foreign, "")
}

// TestOIDCAttacks has an attack and the same where it is allowed for each case: the attack's edit is left out.
func TestOIDCAttacks(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]func(i *testIssuer, r *replica, b *browser, query url.Values){
		"another state": func(_ *testIssuer, _ *replica, _ *browser, query url.Values) { query.Set("state", rand.Text()) },
		"no state":      func(_ *testIssuer, _ *replica, _ *browser, query url.Values) { query.Del("state") },
		"login CSRF: the victim's browser did not start it": func(_ *testIssuer, _ *replica, b *browser, _ url.Values) { clear(b.cookies) },
		"the code of another sign-in is injected": func(i *testIssuer, r *replica, b *browser, query url.Values) {
			query.Set("code", i.authorize(newBrowser(b.t).begin(r, "/")))
		},
		"the same at an issuer without PKCE: the nonce differs": func(i *testIssuer, r *replica, b *browser, query url.Values) {
			i.skipPKCE = true
			query.Set("code", i.authorize(newBrowser(b.t).begin(r, "/")))
		},
		"an ID token of another audience": func(i *testIssuer, _ *replica, _ *browser, _ url.Values) { i.claims = map[string]any{"aud": "other"} },
		"an ID token of another issuer": func(i *testIssuer, _ *replica, _ *browser, _ url.Values) {
			i.claims = map[string]any{"iss": "https://other"}
		},
		"an expired ID token":          func(i *testIssuer, _ *replica, _ *browser, _ url.Values) { i.claims = map[string]any{"exp": 1} },
		"an ID token with another key": func(i *testIssuer, _ *replica, b *browser, _ url.Values) { i.key = newTestIssuer(b.t, i.upstream).key },
		"a sign-in that took too long": func(_ *testIssuer, r *replica, _ *browser, _ url.Values) { r.later(2 * attemptTime) },
		"a tampered attempt":           func(_ *testIssuer, _ *replica, b *browser, _ url.Values) { tamper(b.cookies["__Host-nestor-sign-in"]) },
		"a session as an attempt": func(i *testIssuer, r *replica, b *browser, _ url.Values) {
			other := newBrowser(b.t)
			other.signIn(r, i)
			b.cookies["__Host-nestor-sign-in"].Value = other.cookies["__Host-nestor-session"].Value
		},
		"an API server that does not trust the issuer": func(i *testIssuer, _ *replica, _ *browser, _ url.Values) { i.untrusted = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, attacked := range []bool{true, false} {
				i, r, b := setUp(t)
				request := b.begin(r, "/")
				query := answer(request, i.authorize(request))
				if !attacked {
					b.comeBack(r, query)
					b.expectUser(r, "alice")
					continue
				}
				attack(i, r, b, query)
				b.comeBack(r, query)
				if reason := b.expectUser(r, ""); strings.Contains(reason, "Sign in to continue") {
					t.Error("the page does not say why")
				}
			}
		})
	}
}

func tamper(cookie *http.Cookie) {
	last := cookie.Value[len(cookie.Value)/2]
	other := "A"
	if last == 'A' {
		other = "B"
	}
	cookie.Value = cookie.Value[:len(cookie.Value)/2] + other + cookie.Value[len(cookie.Value)/2+1:]
}

func TestOIDCCallbackCannotBeReplayed(t *testing.T) {
	t.Parallel()
	i, r, b := setUp(t)
	request := b.begin(r, "/")
	thief, query := newBrowser(t), answer(request, i.authorize(request))
	maps.Copy(thief.cookies, b.cookies)
	b.comeBack(r, query)
	b.expectUser(r, "alice")
	thief.comeBack(r, query) // even with the cookie: the code works once
	thief.expectUser(r, "")
}

func TestOIDCTamperedSessionIsNone(t *testing.T) {
	t.Parallel()
	i, r, b := setUp(t)
	b.signIn(r, i)
	tamper(b.cookies["__Host-nestor-session"])
	b.expectUser(r, "")
}

func TestOIDCSignInLeadsToNoOtherHost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://evil.example/": "/", "//evil.example/x": "/", `/\evil.example`: "/%5Cevil.example", "///evil.example": "/evil.example", "javascript:alert(1)": "/", "": "/",
		"/%2f/evil.example": "/evil.example", "/\n/evil.example": "/", "/" + strings.Repeat("a", maxReturn): "/", "/team/chats/one?view=tree": "/team/chats/one?view=tree",
	} {
		if got := localPath(text); got != want {
			t.Errorf("%q leads to %q, want %q", text, got, want)
		}
	}
}

func TestOIDCOtherSitesCannotStartSignIn(t *testing.T) {
	t.Parallel()
	_, r, b := setUp(t)
	for _, path := range []string{signInPath, "/api/logout", "/api/oidc/refresh"} {
		method := http.MethodPost
		if path == signInPath {
			method = http.MethodGet
		}
		got := b.send(r, method, path, func(q *http.Request) {
			q.Header.Set("Sec-Fetch-Site", "cross-site")
			q.Header.Set("Sec-Fetch-Mode", "navigate")
		})
		if got.Code != http.StatusForbidden || len(b.cookies) > 0 {
			t.Errorf("%s: got %d with %v", path, got.Code, b.cookies)
		}
	}
}

func TestOIDCErrorsOfTheIssuerAreShown(t *testing.T) {
	t.Parallel()
	_, r, b := setUp(t)
	request := b.begin(r, "/alice")
	b.comeBack(r, url.Values{"state": {request.Get("state")}, "error": {"access_denied"}, "error_description": {"alice may not\nuse <b>this</b>"}})
	if reason := b.expectUser(r, ""); !strings.Contains(reason, "access_denied: alice may not use") || strings.Contains(reason, "u003cb") {
		t.Errorf("got %s", reason)
	}
	forged := newBrowser(t)
	forged.comeBack(r, url.Values{"state": {"x"}, "error": {"call"}, "error_description": {"call mallory"}})
	if reason := forged.expectUser(r, ""); strings.Contains(reason, "mallory") {
		t.Errorf("a link shows text of its author: %s", reason)
	}
}

func TestOIDCRefresh(t *testing.T) {
	t.Parallel()
	i, r, b := setUp(t)
	refresh := func(want int) { t.Helper(); b.refresh(r, want) }
	refresh(http.StatusUnauthorized)
	b.signIn(r, i)
	token := i.refresh
	refresh(http.StatusNoContent)
	if i.refresh != token {
		t.Error("a current ID token was refreshed")
	}
	r.later(5 * time.Minute)
	b.expectUser(r, "")
	i.down = true
	refresh(http.StatusServiceUnavailable)
	i.down = false
	i.claims = map[string]any{"exp": time.Now().Add(10 * time.Minute).Unix()}
	refresh(http.StatusNoContent)
	b.expectUser(r, "alice")
	i.claims = map[string]any{"exp": time.Now().Add(2 * time.Hour).Unix(), "sub": "bob"}
	r.later(10 * time.Minute)
	refresh(http.StatusUnauthorized) // the issuer answers with the token of another person
	b.expectUser(r, "")
	i.claims = map[string]any{"exp": time.Now().Add(2 * time.Hour).Unix()}
	b.signIn(r, i)
	r.later(10*time.Minute + time.Hour)
	b.expectUser(r, "") // the session is over, the ID token is not
	refresh(http.StatusUnauthorized)
}

func TestOIDCSignOut(t *testing.T) {
	t.Parallel()
	i, r, b := setUp(t)
	b.signIn(r, i)
	if got := b.send(r, http.MethodPost, "/api/logout", nil); got.Code != http.StatusNoContent || i.revoked == "" || i.revoked != i.refresh {
		t.Errorf("got %d, revoked %q", got.Code, i.revoked)
	}
	b.expectUser(r, "")
	if request := b.begin(r, "/"); request.Get("prompt") != "login" {
		t.Errorf("the issuer is not asked to ask: %v", request)
	}
	if request := newBrowser(t).begin(r, "/"); request.Has("prompt") {
		t.Errorf("the issuer asks in vain: %v", request)
	}
}

func TestOIDCStreamEndsWithSession(t *testing.T) {
	t.Parallel()
	i, r, b := setUp(t)
	b.signIn(r, i)
	page := httptest.NewServer(r)
	t.Cleanup(page.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page.URL+"/api/stream?namespace=default", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.AddCookie(b.cookies["__Host-nestor-session"])
	first := make(chan struct{})
	var signedIn bool
	r.identity.now = func() time.Time {
		select {
		case <-first:
			return time.Now().Add(2 * time.Hour)
		default:
			return time.Now()
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	buffer := make([]byte, 1024)
	for ended := err; ended == nil; { // it ends; the test's time limit is the limit
		_, ended = response.Body.Read(buffer)
		if !signedIn {
			signedIn = ended == nil // control: it is open before the session ends
			close(first)
		}
	}
	if !signedIn {
		t.Error("the stream ended before the session")
	}
}

// intercept handles requests for a path of the issuer before it does; next continues there.
func (i *testIssuer) intercept(path string, handle func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	next := i.Config.Handler
	i.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			handle(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

const discoveryPath = "/.well-known/openid-configuration"

func TestOIDCSlowIssuerBlocksOneRequest(t *testing.T) {
	t.Parallel()
	i, r, b := setUp(t)
	var requests atomic.Int32
	arrived, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	i.intercept(discoveryPath, func(w http.ResponseWriter, q *http.Request, next http.Handler) {
		if requests.Add(1) == 1 {
			close(arrived)
			select {
			case <-release:
			case <-q.Context().Done():
			}
		}
		next.ServeHTTP(w, q)
	})
	go func() {
		_, err := r.identity.issuer.discover(context.Background())
		ended <- err
	}()
	<-arrived
	b.begin(r, "/")
	close(release)
	if err := <-ended; err != nil {
		t.Errorf("the second request waited for the first one, which failed: %v", err)
	}
}

func TestOIDCSessionSurvivesAnIssuerThatIsDown(t *testing.T) {
	t.Parallel()
	i := newTestIssuer(t, newUpstream(t))
	key := newKey()
	b := newBrowser(t)
	b.signIn(newReplica(t, i, key), i)
	var down atomic.Bool
	down.Store(true)
	i.intercept(discoveryPath, func(w http.ResponseWriter, q *http.Request, next http.Handler) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		next.ServeHTTP(w, q)
	})
	i.claims = map[string]any{"exp": time.Now().Add(time.Hour).Unix()}
	restarted := newReplica(t, i, key)
	restarted.later(5 * time.Minute)
	b.refresh(restarted, http.StatusServiceUnavailable)
	down.Store(false)
	b.refresh(restarted, http.StatusNoContent)
	b.expectUser(restarted, "alice")
}

func (b *browser) useToken(r http.Handler) {
	b.t.Helper()
	got := b.send(r, http.MethodPost, "/api/login", func(q *http.Request) {
		q.Header.Set("Content-Type", "application/json")
		q.Body = io.NopCloser(strings.NewReader(`{"token":"` + knownToken + `"}`))
	})
	if got.Code != http.StatusNoContent {
		b.t.Fatalf("got %d: %s", got.Code, got.Body)
	}
}

func TestOIDCTokenWhileTheIssuerIsDown(t *testing.T) {
	t.Parallel()
	i, r, b := setUp(t)
	b.useToken(r)
	tokenUser := b.send(r, http.MethodGet, whoamiPath, nil).Body.String()
	b.signIn(r, i)
	if b.cookies["__Host-nestor-token"] != nil {
		t.Error("the sign-in left the token of another person, which would be used when the session ends")
	}
	r.later(5 * time.Minute)
	i.down = true
	b.refresh(r, http.StatusServiceUnavailable)
	b.useToken(r)
	if got := b.send(r, http.MethodGet, whoamiPath, nil).Body.String(); got != tokenUser {
		t.Errorf("got %s, want the user of the token: %s", got, tokenUser)
	}
}

func TestOIDCLinkDoesNotUndoSignOut(t *testing.T) {
	t.Parallel()
	i, r, b := setUp(t)
	b.signIn(r, i)
	b.send(r, http.MethodPost, "/api/logout", nil)
	b.comeBack(r, url.Values{"state": {"x"}, "code": {"y"}})
	if request := b.begin(r, "/"); request.Get("prompt") != "login" {
		t.Errorf("after a link of another site the issuer is not asked to ask: %v", request)
	}
}

func TestOIDCSignOutIgnoresSlowIssuer(t *testing.T) {
	t.Parallel()
	i, r, b := setUp(t)
	b.signIn(r, i)
	left, revoked := make(chan struct{}), make(chan bool, 1)
	i.intercept("/revoke", func(_ http.ResponseWriter, q *http.Request, _ http.Handler) {
		_ = q.ParseForm() // the server notices that the client has gone when the body was read
		select {
		case <-left:
			revoked <- true
		case <-q.Context().Done():
			revoked <- false
		}
	})
	page := httptest.NewServer(r)
	t.Cleanup(page.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page.URL+"/api/logout", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.AddCookie(b.cookies["__Host-nestor-session"])
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	close(left)
	if !<-revoked {
		t.Error("the answer came after the issuer's time was over")
	}
}
