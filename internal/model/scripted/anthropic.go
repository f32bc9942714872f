// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"cmp"
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
	req := new(anthropicRequest)
	unknown, err := decodeStrict(body, req)
	if err != nil {
		return nil, badRequest("", "The request body is not valid JSON: %v", err)
	}
	if !strict {
		return req, nil
	}
	if unknown != "" {
		return nil, extraInput(unknown)
	}
	return req, req.validate()
}

// anthropicTypes are the types of errors.
func anthropicTypes() []string {
	return []string{
		invalidRequest, "authentication_error", "billing_error", "permission_error", "not_found_error",
		"request_too_large", "rate_limit_error", "timeout_error", "api_error", "overloaded_error",
	}
}

// statusOverloaded is not registered.
const statusOverloaded = 529

// failed reports an error. Some have no type of their own and are known only by their message.
func (anthropic) failed(e *apiError) (int, any) {
	status, kind, message := e.status, "", e.message
	switch e.code {
	case codeContextTooLong:
		status, message = http.StatusBadRequest, "prompt is too long: 200001 tokens > 200000 maximum"
	case codeWrongKey:
		status = http.StatusUnauthorized
	case codeUnknownModel:
		status, message = http.StatusNotFound, "model: "+cmp.Or(e.model, "unknown")
	case codeNoQuota:
		status, message = http.StatusBadRequest, "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
	case codeFiltered:
		status, message = http.StatusBadRequest, "Output blocked by content filtering policy"
	default:
		if slices.Contains(anthropicTypes(), e.kind) {
			kind = e.kind
		}
	}
	if status == http.StatusServiceUnavailable {
		status = statusOverloaded
	}
	body := map[string]any{"type": cmp.Or(kind, anthropicType(status)), "message": message}
	return status, map[string]any{"type": "error", "error": body, "request_id": "req_scripted"}
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
	case statusOverloaded:
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
