// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"strings"
	"testing"
)

func TestStateOmitsForbiddenKinds(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.denied = "/namespaces/"
	site := u.tokenSite()
	if got := ask(t, site, http.MethodGet, "/api/state?namespace=..%2fkube-system", nil); got.Code != http.StatusBadRequest || len(u.requests()) > 0 {
		t.Errorf("got %d after %v for a way out of the namespace", got.Code, u.requests())
	}
	got := ask(t, site, http.MethodGet, "/api/state?namespace=team", nil)
	read := len(u.requests())
	if read == 0 {
		t.Error("the state needs no request")
	}
	if other := ask(t, site, http.MethodGet, "/api/state?namespace=team", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+otherToken) }); other.Code != http.StatusOK || len(u.requests()) != 2*read {
		t.Errorf("got %d after %d requests for another person, want as many again as %d", other.Code, len(u.requests()), read)
	}
	for _, request := range u.requests() {
		if !strings.HasPrefix(request, "GET ") || !strings.Contains(request, "/namespaces/team/") && !strings.Contains(request, "/namespaces/nestor-system/") {
			t.Errorf("the state needs %s", request)
		}
	}
	if got.Code != http.StatusOK || len(u.requests()) == 0 || strings.TrimSpace(got.Body.String()) != `{"problems":[]}` {
		t.Errorf("got %d: %s", got.Code, got.Body)
	}
}
