// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/tool/workspace/gitpush"
)

// maxPublish bounds a request: the patch is encoded as base64.
const maxPublish = changes.MaxArchive/3*4 + 1<<20

// PublishHandler serves a publisher to the operator: POST /publish takes a gitpush.Request and answers with a
// gitpush.Result.
func PublishHandler(token string, p *gitpush.Publisher) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintln(rw, "ok") })
	publish := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var request gitpush.Request
		if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, maxPublish)).Decode(&request); err != nil {
			http.Error(rw, fmt.Sprintf("read the request: %v", err), http.StatusBadRequest)
			return
		}
		result, err := p.Publish(r.Context(), request)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadGateway)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(result) // a client that has ended repeats the request
	})
	mux.Handle("POST /publish", requireToken(token, http.NewCrossOriginProtection().Handler(publish)))
	return mux
}
