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

func TestAssetsAreCompressedOnRequest(t *testing.T) {
	t.Parallel()
	p := page{built: true, files: fstest.MapFS{
		"index.html": {Data: []byte("plain")}, "assets/a.js": {Data: []byte("plain")}, "assets/a.js.br": {Data: []byte("brotli")},
		"assets/a.js.gz": {Data: []byte("gzipped")}, "assets/only.css": {Data: []byte("plain")}, "assets/only.css.gz": {Data: []byte("gzipped")},
	}}
	for _, test := range []struct{ path, accept, body, encoding, contentType string }{
		{"/assets/a.js", "gzip, deflate, br, zstd", "brotli", "br", "javascript"},
		{"/assets/a.js", "gzip, deflate", "gzipped", "gzip", "javascript"},
		{"/assets/a.js", "br;q=0, gzip;q=0.5", "gzipped", "gzip", "javascript"},
		{"/assets/a.js", "br; q=0.0, gzip;q=0", "plain", "", "javascript"},
		{"/assets/a.js", "", "plain", "", "javascript"},
		{"/assets/only.css", "br, gzip", "gzipped", "gzip", "css"},
		{"/", "br, gzip", "plain", "", "html"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, nil)
		r.Header.Set("Accept-Encoding", test.accept)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		got := w.Header()
		if w.Body.String() != test.body || got.Get("Content-Encoding") != test.encoding || !strings.Contains(got.Get("Content-Type"), test.contentType) {
			t.Errorf("%s for %q: got %q, headers %v", test.path, test.accept, w.Body, got)
		}
		if cached := strings.HasPrefix(test.path, "/assets/"); cached && got.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s for %q: caches may mix up the forms: %v", test.path, test.accept, got)
		}
	}
}
