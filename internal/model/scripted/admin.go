// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"io"
	"net/http"
	"slices"
	"strings"
)

// listModels lists the models in the form of an API.
func (s *Server) listModels(p protocol) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.authorize(r, p, nil); err != nil {
			writeError(w, p, asAPIError(err))
			return
		}
		writeJSON(w, http.StatusOK, p.list(s.models()))
	}
}

// models returns the names of the models; if the scripts have none, every name is accepted.
func (s *Server) models() []string {
	if models := s.current().models; len(models) > 0 {
		return models
	}
	return []string{"scripted"}
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
		writeError(w, chat{}, badRequest("", "read the script: %v", err))
		return
	}
	script, err := Parse("request", data)
	if err != nil {
		writeError(w, chat{}, badRequest("", "%v", err))
		return
	}
	s.Add(script)
	w.WriteHeader(http.StatusNoContent)
}
