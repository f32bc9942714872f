// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/nestor-dev/nestor/internal/model"
)

// anthropic is the Messages API of Anthropic.
type anthropic struct{}

func (anthropic) api() model.API { return model.Anthropic }

func (anthropic) key(r *http.Request) string { return r.Header.Get("X-Api-Key") }

func (anthropic) wrongKey(key string) *apiError {
	e := &apiError{status: http.StatusUnauthorized, kind: "authentication_error", code: codeWrongKey, message: "x-api-key header is required"}
	if key != "" {
		e.message = "invalid x-api-key"
	}
	return e
}

func (anthropic) decode(r *http.Request, body []byte, strict bool) (encoder, error) {
	if strict {
		switch version := r.Header.Get("Anthropic-Version"); version {
		case "2023-06-01", "2023-01-01":
		case "":
			return nil, badRequest("", "anthropic-version: header is required")
		default:
			return nil, badRequest("", "anthropic-version: %q is not a valid version. See https://docs.anthropic.com/en/api/versioning", version)
		}
	}
	return decodeRequest(body, strict, new(anthropicRequest), "The request body is not valid JSON: %v", extraInput)
}

func anthropicTypes() []string {
	return []string{
		invalidRequest, "authentication_error", "billing_error", "permission_error", "not_found_error",
		"request_too_large", "rate_limit_error", "timeout_error", "api_error", "overloaded_error",
	}
}

// statusOverloaded is not registered.
const statusOverloaded = 529

func (anthropic) failed(e *apiError) (int, any) {
	status, kind, message := e.status, anthropicType(e.status), e.message
	if slices.Contains(anthropicTypes(), e.kind) && e.code == "" {
		kind = e.kind
	}
	switch e.code {
	case codeWrongKey:
		kind = "authentication_error"
	case codeNoQuota:
		kind = "billing_error"
	}
	if message == "" {
		status, kind, message = anthropicDefaults(e, kind)
	}
	body := map[string]any{"type": kind, "message": message}
	return status, map[string]any{"type": "error", "error": body, "request_id": "req_scripted"}
}

// anthropicDefaults returns how the API itself reports an error. Some errors are distinguished only by their message.
func anthropicDefaults(e *apiError, kind string) (status int, kindOf, message string) {
	switch e.code {
	case codeContextTooLong:
		return http.StatusBadRequest, invalidRequest, "prompt is too long: 200001 tokens > 200000 maximum"
	case codeWrongKey:
		return http.StatusUnauthorized, kind, "invalid x-api-key"
	case codeUnknownModel:
		return http.StatusNotFound, "not_found_error", "model: " + e.model
	case codeNoQuota:
		return http.StatusBadRequest, invalidRequest, "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
	case codeFiltered:
		return http.StatusBadRequest, invalidRequest, "Output blocked by content filtering policy"
	}
	if e.status == http.StatusServiceUnavailable || e.status == statusOverloaded {
		return statusOverloaded, kind, "Overloaded"
	}
	return e.status, kind, http.StatusText(e.status)
}

func anthropicType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	case http.StatusServiceUnavailable, statusOverloaded:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return invalidRequest
}

func extraInput(path string) *apiError {
	return badRequest("", "%s: Extra inputs are not permitted", path)
}

// invalid returns the error for a value at a path such as messages.0.content.
func invalid(path, format string, args ...any) *apiError {
	return badRequest("", "%s: %s", path, fmt.Sprintf(format, args...))
}

func (anthropic) list(models []string) any {
	data := make([]any, 0, len(models))
	for _, id := range models {
		data = append(data, map[string]any{"type": "model", "id": id, "display_name": id, "created_at": "2026-01-01T00:00:00Z"})
	}
	return map[string]any{"data": data, "has_more": false, "first_id": models[0], "last_id": models[len(models)-1]}
}
