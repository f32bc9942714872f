// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package web holds the built web page. Without Node and npm the directory is empty, and the server says how to fill it.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Page returns the files of the page, and whether it was built before this program was.
func Page() (fs.FS, bool) {
	page, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, false // only for a malformed path
	}
	_, err = fs.Stat(page, "index.html")
	return page, err == nil
}
