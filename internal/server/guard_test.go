// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"strings"
	"testing"
)

func TestOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		method, path string
		headers      map[string]string
		want         int
	}{
		"the page itself":                 {http.MethodGet, chatsPath, map[string]string{"Sec-Fetch-Site": "same-origin"}, http.StatusOK},
		"a program":                       {http.MethodGet, chatsPath, nil, http.StatusOK},
		"the page in an older browser":    {http.MethodPost, chatsPath, map[string]string{"Origin": "http://example.com"}, http.StatusOK},
		"another site reads":              {http.MethodGet, chatsPath, map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		"another site writes":             {http.MethodPost, chatsPath, map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		"another port writes":             {http.MethodPost, chatsPath, map[string]string{"Sec-Fetch-Site": "same-site"}, http.StatusForbidden},
		"another site in an older one":    {http.MethodPost, chatsPath, map[string]string{"Origin": "https://elsewhere.example"}, http.StatusForbidden},
		"a sandboxed page writes":         {http.MethodPost, chatsPath, map[string]string{"Origin": "null"}, http.StatusForbidden},
		"another site listens":            {http.MethodGet, "/api/stream?namespace=default", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		"a link on another site":          {http.MethodGet, "/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, http.StatusOK},
		"a link on another site to data":  {http.MethodGet, chatsPath, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, http.StatusForbidden},
		"a form on another site":          {http.MethodPost, "/api/logout", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, http.StatusForbidden},
		"a frame or script elsewhere":     {http.MethodGet, "/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, http.StatusForbidden},
		"a name that leads to this place": {http.MethodGet, "/", map[string]string{"Host": "rebound.example"}, http.StatusForbidden},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t)
			site := New(Options{Identity: Tokens(u.config, false), Hosts: []string{"example.com"}})
			got := ask(t, site, c.method, c.path, func(r *http.Request) {
				r.Header.Del("Sec-Fetch-Site")
				for key, value := range c.headers {
					r.Header.Set(key, value)
				}
				if host := c.headers["Host"]; host != "" {
					r.Host = host
				}
			})
			code := got.Code
			if c.path == "/" && code == http.StatusServiceUnavailable {
				code = http.StatusOK // this test does not need the built page
			}
			if code != c.want {
				t.Errorf("got %d, want %d: %s", got.Code, c.want, got.Body)
			}
			if c.want == http.StatusForbidden && len(u.requests()) > 0 {
				t.Errorf("the API server was asked: %v", u.requests())
			}
		})
	}
}

func TestEveryAnswerHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	site := newUpstream(t).tokenSite()
	for _, path := range []string{"/", "/alice/chats/one", "/api/whoami", "/api/nothing", "/k8s/api/v1/secrets", "/assets/none.js"} {
		header := ask(t, site, http.MethodGet, path, nil).Result().Header
		for name := range securityHeaders {
			if header.Get(name) == "" {
				t.Errorf("%s has no %s", path, name)
			}
		}
		csp := header.Get("Content-Security-Policy")
		for _, bad := range []string{"unsafe-inline", "unsafe-eval", "*", "http:", "https:"} {
			if strings.Contains(csp, bad) {
				t.Errorf("%s: the policy allows %s: %s", path, bad, csp)
			}
		}
		for _, good := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(csp, good) {
				t.Errorf("%s: the policy lacks %s: %s", path, good, csp)
			}
		}
	}
}
