// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"

	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
)

// The operator reads the changes of a workspace beside MCP, with the same token:
//
//	GET /changes          a changes.Summary
//	GET /changes/archive  the archive
//	PUT /changes/archive  restores an archive, once, before the first call
//
// 413 means that the changes are too large, and 422 that they cannot be determined. Neither is worth a repetition.

// isRestored reports whether calls may be served.
func (w *Workspace) isRestored() bool {
	if w.restored == "" {
		return true
	}
	_, err := os.Stat(w.restored)
	return err == nil
}

// onceRestored refuses requests until the saved changes are restored: an earlier call would read old files, and its own
// changes could be lost.
func (w *Workspace) onceRestored(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !w.isRestored() {
			http.Error(rw, "the files of the workspace have not been restored yet", http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(rw, r)
	})
}

func (w *Workspace) readChanges(rw http.ResponseWriter, r *http.Request) {
	summary, err := w.changes.Read(r.Context())
	if err != nil {
		w.refuse(rw, err)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(rw).Encode(summary); err != nil {
		w.log.Info("A client ended before it had the changes", "error", err.Error())
	}
}

func (w *Workspace) readArchive(rw http.ResponseWriter, r *http.Request) {
	archive, err := w.changes.Archive(r.Context())
	if err != nil {
		w.refuse(rw, err)
		return
	}
	rw.Header().Set("Content-Type", "application/octet-stream")
	rw.Header().Set("Content-Length", strconv.Itoa(len(archive)))
	_, _ = rw.Write(archive) // the client notices by the length
}

func (w *Workspace) refuse(rw http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, changes.ErrTooLarge):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, changes.ErrNoBase):
		status = http.StatusUnprocessableEntity
	}
	http.Error(rw, err.Error(), status)
}

// restore restores an archive. A repeated request does nothing, so that a client may send it until it succeeds.
func (w *Workspace) restore(rw http.ResponseWriter, r *http.Request) {
	w.restoring.Lock()
	defer w.restoring.Unlock()
	if w.isRestored() {
		rw.WriteHeader(http.StatusNoContent)
		return
	}
	archive, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, changes.MaxArchive))
	if err != nil {
		http.Error(rw, fmt.Sprintf("read the archive: %v", err), http.StatusBadRequest)
		return
	}
	// Without an archive the files are as they were cloned, or empty.
	if len(archive) > 0 {
		if err := w.changes.Restore(r.Context(), archive); err != nil {
			w.log.Error("Saved changes cannot be restored", "error", err.Error())
			http.Error(rw, err.Error(), http.StatusUnprocessableEntity)
			return
		}
	}
	if err := os.WriteFile(w.restored, nil, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	rw.WriteHeader(http.StatusNoContent)
}
