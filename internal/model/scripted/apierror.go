// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/nestor-dev/nestor/internal/model"
)

// The codes of errors that every API reports in its own way. They are those of the chat completions API.
const (
	codeContextTooLong = "context_length_exceeded"
	codeWrongKey       = "invalid_api_key"
	codeUnknownModel   = "model_not_found"
	codeNoQuota        = "insufficient_quota"
	codeFiltered       = "content_filter"
	codeNoRule         = "no_rule_matches"
)

const invalidRequest = "invalid_request_error"

// apiError is an error before it takes the form of an API. Kind and code are those of the chat completions API. Without
// a message, each API has its own status and message for the code.
type apiError struct {
	status     int
	retryAfter duration
	message    string
	kind       string
	param      string
	code       string
	model      string
}

func (e *apiError) Error() string { return e.message }

func badRequest(param, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, kind: invalidRequest, param: param, message: fmt.Sprintf(format, args...)}
}

func unknownModel(name string) *apiError {
	return &apiError{status: http.StatusNotFound, kind: invalidRequest, code: codeUnknownModel, model: name}
}

func asAPIError(err error) *apiError {
	if e := new(apiError); errors.As(err, &e) {
		return e
	}
	return &apiError{status: http.StatusInternalServerError, kind: "server_error", message: err.Error()}
}

// writeError sends an error in the form of an API.
func writeError(w http.ResponseWriter, p protocol, e *apiError) {
	status, body := p.failed(e)
	switch p.api() {
	case model.Gemini, model.Vertex: // these APIs send the delay in the body
	case model.Bedrock:
		w.Header().Set("X-Amzn-Errortype", exception(e)+":http://internal.amazon.com/coral/com.amazon.bedrock/")
		fallthrough
	default:
		e.retryAfter.setHeader(w.Header())
	}
	writeJSON(w, status, body)
}

// writeJSON sends a value. Errors are ignored, because they only mean that the client has disconnected.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
