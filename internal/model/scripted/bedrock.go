// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
)

// bedrock is the Converse API of Amazon Bedrock. Its calls have the path /model/NAME/converse or
// /model/NAME/converse-stream.
type bedrock struct{}

func (bedrock) api() model.API { return model.Bedrock }

// key returns the API key of a request, or the access key ID of one that is signed.
func (bedrock) key(r *http.Request) string {
	if signed, ok := parseSigned(r); ok {
		return signed.accessKeyID
	}
	return bearer(r)
}

func (bedrock) wrongKey(key string) *apiError {
	e := &apiError{status: http.StatusForbidden, code: codeWrongKey, message: "Missing Authentication Token"}
	if key != "" {
		e.message = "Authentication failed: Please make sure your API Key is valid."
	}
	return e
}

func (bedrock) decode(r *http.Request, body []byte, strict bool) (encoder, error) {
	req := &bedrockRequest{model: r.PathValue("model")}
	switch r.PathValue("operation") {
	case "converse":
	case "converse-stream":
		req.streamed = true
	default:
		return nil, &apiError{status: http.StatusNotFound, kind: "UnknownOperationException", message: "The requested operation is not recognized by the service."}
	}
	return decodeRequest(body, strict, req, "Malformed input request: %v, please reformat your input and try again.", func(field string) *apiError {
		return badRequest("", "Malformed input request: extraneous key [%s] is not permitted, please reformat your input and try again.", field)
	})
}

// failed reports an error. Its type is a header.
func (bedrock) failed(e *apiError) (int, any) {
	status, message := e.status, e.message
	switch {
	case e.code == codeNoQuota: // the same exception as for a rate limit
		message = strings.TrimSpace("Too many tokens per day, please wait before trying again. " + e.message)
	case message == "":
		status, message = bedrockDefaults(e)
	}
	return status, map[string]any{"message": message}
}

func bedrockDefaults(e *apiError) (int, string) {
	switch e.code {
	case codeContextTooLong:
		return http.StatusBadRequest, "Input is too long for requested model."
	case codeUnknownModel:
		return http.StatusNotFound, "Could not resolve the foundation model from the provided model identifier: " + e.model
	case codeWrongKey:
		return http.StatusForbidden, "The security token included in the request is invalid."
	case codeFiltered:
		return http.StatusBadRequest, "Output blocked by content filtering policy"
	}
	return e.status, http.StatusText(e.status)
}

// exception returns the type of an error.
func exception(e *apiError) string {
	if strings.HasSuffix(e.kind, "Exception") {
		return e.kind
	}
	if e.code == codeWrongKey {
		return "UnrecognizedClientException"
	}
	switch e.status {
	case http.StatusForbidden, http.StatusUnauthorized:
		return "AccessDeniedException"
	case http.StatusNotFound:
		return "ResourceNotFoundException"
	case http.StatusRequestTimeout:
		return "ModelTimeoutException"
	case http.StatusFailedDependency:
		return "ModelErrorException"
	case http.StatusTooManyRequests:
		return "ThrottlingException"
	case http.StatusServiceUnavailable, statusOverloaded:
		return "ServiceUnavailableException"
	}
	if e.status >= 500 {
		return "InternalServerException"
	}
	return "ValidationException"
}

func (bedrock) list(models []string) any {
	list := []any{}
	for _, id := range models {
		list = append(list, map[string]any{
			"modelId": id, "modelArn": "arn:aws:bedrock:us-east-1::foundation-model/" + id, "modelName": id, "providerName": "Nestor",
			"inputModalities": []string{"TEXT", "IMAGE"}, "outputModalities": []string{"TEXT"}, "responseStreamingSupported": true,
		})
	}
	return map[string]any{"modelSummaries": list}
}

// validationError returns the error for a value that the service's model of a request does not allow.
func validationError(path, message string) *apiError {
	return badRequest("", "1 validation error detected: Value at '%s' failed to satisfy constraint: %s", path, message)
}

// defaultSecret is the secret access key of signed requests if the server requires no key.
const defaultSecret = "scripted"

func (s *Server) secret() string { return cmp.Or(s.options.APIKey, defaultSecret) }
