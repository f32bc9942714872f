// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

const whoamiPath = "/api/whoami"

func TestOnlyTheTokenIsForwarded(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	site := u.tokenSite()
	path := "/k8s/apis/nestor.dev/v1beta1/namespaces/default/agentchats"
	for name, edit := range map[string]func(*http.Request){
		"in the header": nil,
		"in the cookie": func(r *http.Request) {
			r.Header.Del("Authorization")
			r.AddCookie(&http.Cookie{Name: "nestor-token", Value: knownToken})
		},
		"with forbidden headers": func(r *http.Request) {
			r.Header.Set("Impersonate-User", "admin")
			r.Header.Set("X-Remote-User", "admin")
			r.Header.Set("X-Forwarded-For", "10.0.0.1")
			r.AddCookie(&http.Cookie{Name: "other", Value: "secret"})
		},
	} {
		got := ask(t, site, http.MethodGet, path, edit)
		if got.Code != http.StatusOK {
			t.Fatalf("%s: got %d: %s", name, got.Code, got.Body)
		}
		if cookie := got.Header().Get("Set-Cookie"); cookie != "" {
			t.Errorf("%s: the API server set a cookie: %s", name, cookie)
		}
		asked := u.last(t)
		if header := asked.Header.Get("Authorization"); header != "Bearer "+knownToken {
			t.Errorf("%s: asked with %q", name, header)
		}
		for _, header := range []string{"Cookie", "Impersonate-User", "X-Remote-User", "X-Forwarded-For", "Origin"} {
			if asked.Header.Get(header) != "" {
				t.Errorf("%s: %s was passed on: %q", name, header, asked.Header.Get(header))
			}
		}
	}
}

func TestNoRequestWithoutToken(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	for _, path := range []string{whoamiPath, "/api/catalog", "/api/stream?namespace=default", "/k8s/apis/nestor.dev/v1beta1/namespaces/default/agentchats"} {
		got := ask(t, u.tokenSite(), http.MethodGet, path, func(r *http.Request) { r.Header.Del("Authorization") })
		if got.Code != http.StatusUnauthorized || got.Header().Get("Nestor-Sign-In") != SignInToken {
			t.Errorf("%s: got %d, sign in %q", path, got.Code, got.Header().Get("Nestor-Sign-In"))
		}
	}
	if asked := u.requests(); len(asked) > 0 {
		t.Errorf("the server used its own credentials: %v", asked)
	}
}

func TestSignInSetsStrictCookie(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	login := func(site http.Handler, token string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/login", strings.NewReader(`{"token": "`+token+`"}`))
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		return w
	}
	for token, want := range map[string]int{"unknown": http.StatusUnauthorized, "": http.StatusBadRequest, "two words": http.StatusBadRequest, strings.Repeat("x", maxToken+1): http.StatusBadRequest} {
		if got := login(u.tokenSite(), token); got.Code != want || got.Header().Get("Set-Cookie") != "" {
			t.Errorf("token %.12q: got %d with cookie %q, want %d without", token, got.Code, got.Header().Get("Set-Cookie"), want)
		}
	}
	for secure, name := range map[bool]string{false: "nestor-token", true: "__Host-nestor-token"} {
		got := login(New(Options{Identity: Tokens(u.config, secure)}), knownToken)
		cookies := got.Result().Cookies()
		if got.Code != http.StatusNoContent || len(cookies) != 1 {
			t.Fatalf("got %d with %v: %s", got.Code, cookies, got.Body)
		}
		cookie := cookies[0]
		if cookie.Name != name || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Secure != secure || cookie.Path != "/" || cookie.Domain != "" {
			t.Errorf("the cookie is not strict: %v", cookie)
		}
	}
}

type result struct {
	code    int
	header  http.Header
	cookies []*http.Cookie
	body    []byte
}

func TestLinkWorksOnce(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	link, _, err := Local(t.Context(), LocalOptions{Config: &rest.Config{Host: u.URL, BearerToken: knownToken}, Namespace: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	get := func(address string, cookies ...*http.Cookie) result {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, cookie := range cookies {
			r.AddCookie(cookie)
		}
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return result{response.StatusCode, response.Header, response.Cookies(), body}
	}
	who := base.Scheme + "://" + base.Host + whoamiPath
	if got := get(who); got.code != http.StatusUnauthorized || got.header.Get("Nestor-Sign-In") != SignInLink {
		t.Errorf("without the link: got %d", got.code)
	}
	if got := get(base.Scheme + "://" + base.Host + "/login?token=wrong"); len(got.cookies) != 0 {
		t.Errorf("a wrong link gave %v", got.cookies)
	}
	opened := get(link)
	if opened.code != http.StatusSeeOther || opened.header.Get("Location") != "/" || len(opened.cookies) != 1 {
		t.Fatalf("got %d to %q with %v", opened.code, opened.header.Get("Location"), opened.cookies)
	}
	session := opened.cookies[0]
	if !session.HttpOnly || session.SameSite != http.SameSiteStrictMode {
		t.Errorf("the session is not strict: %v", session)
	}
	if again := get(link); len(again.cookies) != 0 {
		t.Errorf("the link worked twice: %v", again.cookies)
	}
	var me whoamiResponse
	mine := get(who, session)
	if err := json.Unmarshal(mine.body, &me); err != nil || me.User != "alice" || me.Namespace != "alice" || !me.May["createChats"] {
		t.Errorf("got %d %+v: %v", mine.code, me, err)
	}
	forged := *session
	forged.Value = "forged"
	if got := get(who, &forged); got.code != http.StatusUnauthorized {
		t.Errorf("a forged session got %d", got.code)
	}
}

func TestLocalPageListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	_, _, err := Local(t.Context(), LocalOptions{Config: &rest.Config{}, Address: "0.0.0.0:0"})
	if err == nil || !strings.Contains(err.Error(), "not on loopback") {
		t.Errorf("got %v", err)
	}
}
