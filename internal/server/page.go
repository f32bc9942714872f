// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"io/fs"
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
	}
	http.ServeFileFS(w, r, p.files, name)
}
