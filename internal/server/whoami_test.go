// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestPageReceivesOptions(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	sample := &v1beta1.Workspace{Directory: &v1beta1.DirectorySource{Path: "/home/alice/sample"}}
	with := New(Options{Identity: Tokens(u.config, false), Workspace: sample, GatewayURL: "https://agents.example.com"})
	if got := ask(t, with, http.MethodGet, whoamiPath, nil); !strings.Contains(got.Body.String(), `"gatewayURL":"https://agents.example.com"`) {
		t.Errorf("got %s", got.Body)
	}
	if got := ask(t, with, http.MethodGet, whoamiPath, nil); !strings.Contains(got.Body.String(), `"defaultWorkspace":{"directory":{"path":"/home/alice/sample"}}`) {
		t.Errorf("got %s", got.Body)
	}
	if got := ask(t, u.tokenSite(), http.MethodGet, whoamiPath, nil); got.Code != http.StatusOK || strings.Contains(got.Body.String(), "defaultWorkspace") {
		t.Errorf("without one, got %d %s", got.Code, got.Body)
	}
}

func TestWhoamiNamesGroups(t *testing.T) {
	t.Parallel()
	got := ask(t, newUpstream(t).tokenSite(), http.MethodGet, whoamiPath, nil)
	if !strings.Contains(got.Body.String(), `"groups":["platform"]`) {
		t.Errorf("got %s", got.Body)
	}
	many := slices.Repeat([]string{"team"}, 2*maxGroups)
	for _, c := range []struct{ all, named []string }{
		{[]string{"system:masters", "system:authenticated"}, []string{"system:masters"}},
		{[]string{"system:serviceaccounts", "system:serviceaccounts:ci", "", strings.Repeat("a", 254)}, []string{}},
		{many, many[:maxGroups]},
	} {
		if named := namedGroups(c.all); !slices.Equal(named, c.named) {
			t.Errorf("%q: got %q", c.all, named)
		}
	}
}

func TestWhoamiReportsMissingNamespace(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.missing = "/api/v1/namespaces/nowhere"
	if got := ask(t, u.tokenSite(), http.MethodGet, whoamiPath+"?namespace=nowhere", nil); !strings.Contains(got.Body.String(), `"namespaceMissing":true`) {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if got := ask(t, u.tokenSite(), http.MethodGet, whoamiPath, nil); strings.Contains(got.Body.String(), "namespaceMissing") {
		t.Errorf("a namespace that exists: %s", got.Body)
	}
	// Most people may not read namespaces: theirs count as existing.
	u.denied = "/api/v1/namespaces/"
	if got := ask(t, u.tokenSite(), http.MethodGet, whoamiPath+"?namespace=nowhere", nil); got.Code != http.StatusOK || strings.Contains(got.Body.String(), "namespaceMissing") {
		t.Errorf("without the permission: %d %s", got.Code, got.Body)
	}
}
