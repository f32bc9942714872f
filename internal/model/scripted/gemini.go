// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/model"
)

// gemini is the Gemini API. Its calls have the path models/NAME:METHOD.
type gemini struct{}

func (gemini) api() model.API { return model.Gemini }

func (gemini) key(r *http.Request) string {
	return cmp.Or(r.Header.Get("X-Goog-Api-Key"), r.URL.Query().Get("key"))
}

func (gemini) wrongKey(key string) *apiError {
	if key == "" {
		return &apiError{status: http.StatusForbidden, message: "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."}
	}
	return &apiError{status: http.StatusBadRequest, code: codeWrongKey, message: "API key not valid. Please pass a valid API key."}
}

func (gemini) decode(r *http.Request, body []byte, strict bool) (encoder, error) {
	name, method, _ := strings.Cut(r.PathValue("call"), ":")
	req := &geminiRequest{model: name}
	switch method {
	case "generateContent":
	case "streamGenerateContent":
		req.streamed = true
		req.events = r.URL.Query().Get("alt") == "sse"
	default:
		return nil, &apiError{status: http.StatusNotFound, message: fmt.Sprintf("The method %q is not found for API version v1beta.", method)}
	}
	return decodeRequest(body, strict, req, "Invalid JSON payload received. %v", func(field string) *apiError {
		return badRequest(field, "Invalid JSON payload received. Unknown name %q: Cannot find field.", field)
	})
}

// failed reports an error. The wait before a retry is a detail, not a header.
func (gemini) failed(e *apiError) (int, any) {
	status, message := e.status, e.message
	if message == "" {
		status, message = geminiDefaults(e)
	}
	details := []any{}
	switch e.code {
	case codeWrongKey:
		details = append(details, map[string]any{
			"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com",
			"metadata": map[string]any{"service": "generativelanguage.googleapis.com"},
		})
	case codeNoQuota:
		if e.message != "" { // the API has the same status for rate limits
			message = noCredits + " " + e.message
		}
	}
	if e.retryAfter != 0 {
		details = append(details, map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%gs", time.Duration(e.retryAfter).Seconds())})
	}
	body := map[string]any{"code": status, "message": message, "status": geminiStatus(status)}
	if len(details) > 0 {
		body["details"] = details
	}
	return status, map[string]any{"error": body}
}

const noCredits = "Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing."

func geminiDefaults(e *apiError) (int, string) {
	switch e.code {
	case codeContextTooLong:
		return http.StatusBadRequest, "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."
	case codeWrongKey:
		return http.StatusBadRequest, "API key not valid. Please pass a valid API key."
	case codeUnknownModel:
		return http.StatusNotFound, fmt.Sprintf("models/%s is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.", e.model)
	case codeNoQuota:
		return http.StatusTooManyRequests, noCredits
	}
	if e.status == statusOverloaded {
		return http.StatusServiceUnavailable, "The model is overloaded. Please try again later."
	}
	return e.status, http.StatusText(e.status)
}

func geminiStatus(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusConflict:
		return "ABORTED"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusNotImplemented:
		return "UNIMPLEMENTED"
	case http.StatusServiceUnavailable, statusOverloaded:
		return "UNAVAILABLE"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	}
	if status >= 500 {
		return "INTERNAL"
	}
	return "INVALID_ARGUMENT"
}

func (gemini) list(models []string) any {
	var list []any
	for _, id := range models {
		list = append(list, map[string]any{
			"name": "models/" + id, "version": "001", "displayName": id, "inputTokenLimit": 1048576, "outputTokenLimit": 65536,
			"supportedGenerationMethods": []string{"generateContent", "streamGenerateContent"},
		})
	}
	return map[string]any{"models": list}
}
