// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/nestor-dev/nestor/web"
)

// missingPage is served if the page was not built.
const missingPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Nestor</title>
<h1>This program was built without the web page</h1>
<p>The API works, the page is missing. In a checkout, with Node 20.19 or later and npm:</p>
<pre>make web    # builds the page
make build  # builds the programs with it</pre>
</html>
`

// page serves the built page.
type page struct {
	files fs.FS
	built bool
}

func newPage() page {
	files, built := web.Page()
	return page{files, built}
}

// ServeHTTP serves a file of the page. Other paths are routes of the page's script.
func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		notFound(w, r)
		return
	}
	if !p.built {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(missingPage)) // the client may have disconnected
		return
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if name == ".gitkeep" {
		name = ""
	}
	info, err := fs.Stat(p.files, name)
	if name == "" || err != nil || info.IsDir() {
		if strings.HasPrefix(name, "assets/") {
			notFound(w, r) // a file of another build: do not serve HTML as a script
			return
		}
		name = "index.html"
	}
	if strings.HasPrefix(name, "assets/") {
		// Their names contain a hash of their content.
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		name = p.negotiate(w, r, name)
	}
	http.ServeFileFS(w, r, p.files, name)
}

// encodings are the compressed forms that the build of the page writes beside its assets, best first.
var encodings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// negotiate returns the compressed form of an asset that the client accepts, with its headers set, or the asset.
func (p page) negotiate(w http.ResponseWriter, r *http.Request, name string) string {
	w.Header().Set("Vary", "Accept-Encoding")
	for _, encoding := range encodings {
		if _, err := fs.Stat(p.files, name+encoding.suffix); err != nil || !accepts(r, encoding.name) {
			continue
		}
		w.Header().Set("Content-Encoding", encoding.name)
		w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name))) // that of the asset, not of its compressed form
		return name + encoding.suffix
	}
	return name
}

// accepts reports whether a client accepts an encoding by name. A quality of 0 refuses it.
func accepts(r *http.Request, encoding string) bool {
	for offer := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, parameters, _ := strings.Cut(offer, ";")
		if !strings.EqualFold(strings.TrimSpace(name), encoding) {
			continue
		}
		_, quality, found := strings.Cut(parameters, "=")
		return !found || strings.Trim(strings.TrimSpace(quality), "0.") != ""
	}
	return false
}
