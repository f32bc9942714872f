// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/internal/login/request"
)

// loginDesk is the operator's side: it records what the page sends.
type loginDesk struct {
	got []request.Request
	err error
}

func (d *loginDesk) login(_ context.Context, wanted request.Request) (request.Result, error) {
	d.got = append(d.got, wanted)
	return request.Result{URL: "https://login.example.com/authorize?state=s", Namespace: "team", Server: "files"}, d.err
}

func (d *loginDesk) site(u *upstream) http.Handler {
	return New(Options{Identity: Tokens(u.config, false), Logins: d.login})
}

func signedOut(r *http.Request) { r.Header.Del("Authorization") }

func TestLoginToAToolServer(t *testing.T) {
	t.Parallel()
	u, desk := newUpstream(t), &loginDesk{}
	site := desk.site(u)
	// The link of a question opens from anywhere, and does nothing by itself.
	page := ask(t, site, http.MethodGet, "/tool-login/team/files", func(r *http.Request) {
		signedOut(r)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
	})
	if page.Code != http.StatusOK || !strings.Contains(page.Body.String(), `href="/api/tool-login/team/files/begin"`) || len(desk.got) != 0 {
		t.Fatalf("got %d %s", page.Code, page.Body)
	}
	began := ask(t, site, http.MethodGet, "/api/tool-login/team/files/begin", nil)
	if began.Code != http.StatusSeeOther || began.Header().Get("Location") != "https://login.example.com/authorize?state=s" {
		t.Fatalf("got %d %v", began.Code, began.Header())
	}
	want := request.Request{Action: request.Begin, Person: "alice", Namespace: "team", Server: "files", MayRead: true}
	if desk.got[0] != want {
		t.Errorf("sent %+v", desk.got[0])
	}
	// The answer comes from another site, without cookies; the page passes it on to an address that gets them.
	answer := url.Values{"state": {`s"><script>`}, "code": {"c&d"}, "iss": {"https://login.example.com"}, "evil": {"x"}}
	callback := ask(t, site, http.MethodGet, request.CallbackPath+"?"+answer.Encode(), func(r *http.Request) {
		signedOut(r)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
	})
	next := regexp.MustCompile(`href="([^"]*)"`).FindStringSubmatch(callback.Body.String())
	if callback.Code != http.StatusOK || next == nil || strings.Contains(callback.Body.String(), "<script>") || len(desk.got) != 1 {
		t.Fatalf("got %d %s", callback.Code, callback.Body)
	}
	finished := ask(t, site, http.MethodGet, html.UnescapeString(next[1]), nil)
	if finished.Code != http.StatusOK || !strings.Contains(finished.Body.String(), "You are logged in") {
		t.Fatalf("got %d %s", finished.Code, finished.Body)
	}
	want = request.Request{Action: request.Finish, Person: "alice", Answer: request.Answer{State: `s"><script>`, Code: "c&d", Issuer: "https://login.example.com"}}
	if desk.got[1] != want {
		t.Errorf("sent %+v", desk.got[1])
	}
	out := ask(t, site, http.MethodPost, "/api/tool-login/team/files/logout", nil)
	if want := (request.Request{Action: request.Logout, Person: "alice", Namespace: "team", Server: "files"}); out.Code != http.StatusOK || desk.got[2] != want {
		t.Errorf("got %d, sent %+v", out.Code, desk.got[2])
	}
}

func TestRefusedLogins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, path string
		edit         func(*http.Request)
		err          error
		code         int
		want         string
		sent         int
	}{
		"signed out":                      {http.MethodGet, "/api/tool-login/team/files/begin", signedOut, nil, http.StatusUnauthorized, "Sign in first", 0},
		"signed out at the end":           {http.MethodGet, finishAPI + "?state=s&code=c", signedOut, nil, http.StatusUnauthorized, "Sign in first", 0},
		"signed out of a logout":          {http.MethodPost, "/api/tool-login/team/files/logout", signedOut, nil, http.StatusUnauthorized, "Sign in first", 0},
		"a token that is not valid":       {http.MethodGet, finishAPI + "?state=s&code=c", func(r *http.Request) { r.Header.Set("Authorization", "Bearer stolen") }, nil, http.StatusUnauthorized, "Sign in first", 0},
		"a link of another site":          {http.MethodGet, "/api/tool-login/team/files/begin", fromElsewhere, nil, http.StatusForbidden, "other sites", 0},
		"an answer sent by another site":  {http.MethodGet, finishAPI + "?state=s&code=c", fromElsewhere, nil, http.StatusForbidden, "other sites", 0},
		"a logout by another site":        {http.MethodPost, "/api/tool-login/team/files/logout", fromElsewhere, nil, http.StatusForbidden, "other sites", 0},
		"another person than the one who": {http.MethodGet, finishAPI + "?state=s&code=c", nil, apierrors.NewBadRequest("You did not begin <this> login"), http.StatusBadRequest, "You did not begin &lt;this&gt; login", 1},
		"a wrong name":                    {http.MethodGet, "/tool-login/team/Not-A-Name", nil, nil, http.StatusBadRequest, "No such page", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desk := &loginDesk{err: c.err}
			got := ask(t, desk.site(newUpstream(t)), c.method, c.path, c.edit)
			if got.Code != c.code || !strings.Contains(got.Body.String(), c.want) || len(desk.got) != c.sent {
				t.Errorf("got %d %s, %d requests", got.Code, got.Body, len(desk.got))
			}
		})
	}
}

func fromElsewhere(r *http.Request) {
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.Header.Set("Sec-Fetch-Mode", "navigate")
}

// The operator decides for a person who may not read the ToolServer: it may be shared.
func TestLoginWithoutReadPermission(t *testing.T) {
	t.Parallel()
	u, desk := newUpstream(t), &loginDesk{}
	u.denied = "/toolservers"
	ask(t, desk.site(u), http.MethodGet, "/api/tool-login/nestor-system/files/begin", nil)
	if len(desk.got) != 1 || desk.got[0].MayRead {
		t.Errorf("sent %+v", desk.got)
	}
}
