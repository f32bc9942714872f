// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"net/http"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
)

// vertex is the Gemini API on Vertex AI, whose calls have the path
// projects/PROJECT/locations/LOCATION/publishers/google/models/NAME:METHOD and an access token.
type vertex struct{ gemini }

func (vertex) api() model.API { return model.Vertex }

func (vertex) key(r *http.Request) string { return bearer(r) }

// bearer returns the bearer token of a request, or "".
func bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

func (vertex) wrongKey(string) *apiError {
	return &apiError{
		status: http.StatusUnauthorized, code: codeWrongKey,
		message: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other " +
			"valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
	}
}

func (v vertex) decode(r *http.Request, body []byte, strict bool) (encoder, error) {
	if strict && (r.Header.Get("X-Goog-Api-Key") != "" || r.URL.Query().Has("key")) {
		return nil, &apiError{
			status: http.StatusUnauthorized,
			message: "API keys are not supported by this API. Expected OAuth2 access token or other authentication " +
				"credentials that assert a principal.",
		}
	}
	return v.gemini.decode(r, body, strict)
}

func (vertex) list(models []string) any {
	var list []any
	for _, id := range models {
		list = append(list, map[string]any{"name": "publishers/google/models/" + id, "versionId": "001"})
	}
	return map[string]any{"publisherModels": list}
}
