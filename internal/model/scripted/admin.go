// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"io"
	"net/http"
	"slices"
	"strings"
)

func (s *Server) listModels(w http.ResponseWriter, r *http.Request) {
	if err := s.authorize(r); err != nil {
		writeError(w, asAPIError(err))
		return
	}
	type entry struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	models := s.current().models
	if len(models) == 0 {
		models = []string{"scripted"}
	}
	data := make([]entry, 0, len(models))
	for _, id := range models {
		data = append(data, entry{ID: id, Object: "model", Created: created, OwnedBy: "nestor"})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

// listRequests lists the recorded requests or, with ?key=PREFIX, only those with such an idempotency key.
func (s *Server) listRequests(w http.ResponseWriter, r *http.Request) {
	prefix := r.URL.Query().Get("key")
	requests := slices.DeleteFunc(s.Requests(), func(rec Recorded) bool { return !strings.HasPrefix(rec.IdempotencyKey, prefix) })
	writeJSON(w, http.StatusOK, map[string]any{"total": s.recorder.count(), "underWay": s.inFlight.Load(), "requests": requests})
}

func (s *Server) handleReset(w http.ResponseWriter, _ *http.Request) {
	s.Reset()
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) handleScript(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		writeError(w, badRequest("", "read the script: %v", err))
		return
	}
	script, err := Parse("request", data)
	if err != nil {
		writeError(w, badRequest("", "%v", err))
		return
	}
	s.Add(script)
	w.WriteHeader(http.StatusNoContent)
}
