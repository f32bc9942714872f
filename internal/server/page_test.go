// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func TestPageAndItsRoutes(t *testing.T) {
	t.Parallel()
	p := page{built: true, files: fstest.MapFS{"index.html": {Data: []byte("<title>Nestor</title>")}, "assets/a-1.js": {Data: []byte("x")}, ".gitkeep": {}}}
	for path, want := range map[string]struct {
		code          int
		body, caching string
	}{
		"/":                     {200, "Nestor", ""},
		"/alice/chats/one":      {200, "Nestor", ""},
		"/../../etc/passwd":     {400, "invalid", ""},
		"/.gitkeep":             {200, "Nestor", ""},
		"/assets/a-1.js":        {200, "x", "public, max-age=31536000, immutable"},
		"/assets/of-another.js": {404, "does not offer", ""},
	} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != want.code || !strings.Contains(w.Body.String(), want.body) || w.Header().Get("Cache-Control") != want.caching {
			t.Errorf("%s: got %d %q, caching %q", path, w.Code, w.Body, w.Header().Get("Cache-Control"))
		}
	}
}

func TestMissingPageExplainsBuild(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	page{}.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "make web") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}
