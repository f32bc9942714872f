// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"encoding/json"
	"net/http"

	"github.com/nestor-dev/nestor/internal/tool/workspace/files"
)

// The operator reads one file of a workspace beside MCP, with the same token:
//
//	GET /file?path=PATH&cwd=DIRECTORY  a files.File
//
// 422 means that the path does not name a file.
func (w *Workspace) readFile(rw http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	file, err := files.Read(w.root, query.Get("cwd"), query.Get("path"))
	if err != nil {
		http.Error(rw, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(rw).Encode(file); err != nil {
		w.log.Info("A client ended before it had the file", "error", err.Error())
	}
}
