// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// apiError is an error in the API's form.
type apiError struct {
	status     int
	retryAfter duration

	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// Error implements error.
func (e *apiError) Error() string { return e.Message }

func badRequest(param, format string, args ...any) *apiError {
	e := &apiError{status: 400, Type: "invalid_request_error", Message: fmt.Sprintf(format, args...)}
	if param != "" {
		e.Param = &param
	}
	return e
}

func unknownModel(name string) error {
	return &apiError{
		status: http.StatusNotFound, Type: "invalid_request_error", Code: new("model_not_found"),
		Message: fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", name),
	}
}

func asAPIError(err error) *apiError {
	if e := new(apiError); errors.As(err, &e) {
		return e
	}
	return &apiError{status: http.StatusInternalServerError, Type: "server_error", Message: err.Error()}
}

func writeError(w http.ResponseWriter, e *apiError) {
	e.retryAfter.setHeader(w.Header())
	writeJSON(w, e.status, map[string]any{"error": e})
}

// writeJSON sends a value. Errors are ignored, because they only mean that the client has disconnected.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
