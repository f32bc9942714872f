// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/tool/workspace/gitpush"
)

// The tools of a workspace whose changes agents may publish. The operator runs them: the workspace itself has no credentials.
const (
	ReviewTool  = "review_changes"
	PublishTool = "publish_changes"
)

type PublishArgs struct {
	Message string `json:"message" jsonschema:"the commit message: a short first line, an empty line, and why"`
	Changes string `json:"changes" jsonschema:"the line that review_changes printed last, unchanged"`
}

type reviewArgs struct{}

func PublishSpecs(approval tool.Approval) ([]tool.Spec, error) {
	review, err := json.Marshal(schemaFor[reviewArgs]())
	if err != nil {
		return nil, fmt.Errorf("encode the schema of %s: %w", ReviewTool, err)
	}
	publish, err := json.Marshal(schemaFor[PublishArgs]())
	if err != nil {
		return nil, fmt.Errorf("encode the schema of %s: %w", PublishTool, err)
	}
	return []tool.Spec{
		{Name: ReviewTool, Parameters: review, ReadOnly: true,
			Description: "List all files of the workspace that were changed since it was cloned, by any agent, with the line that publish_changes needs."},
		{Name: PublishTool, Parameters: publish, Idempotent: true, Approval: approval,
			Description: "Publish all changes of the workspace as one commit on its branch of the git repository. Call review_changes first; if the files change afterwards, nothing is published. " +
				"Later calls add commits to the same branch."},
	}, nil
}

// maxPublish bounds a request: the patch is encoded as base64.
const maxPublish = changes.MaxArchive/3*4 + 1<<20

// PublishHandler serves a publisher to the operator: POST /publish takes a gitpush.Request and answers with a gitpush.Result.
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
		_ = json.NewEncoder(rw).Encode(result) // a client that has ended asks again
	})
	mux.Handle("POST /publish", requireToken(token, http.NewCrossOriginProtection().Handler(publish)))
	return mux
}
