// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"fmt"
	"net/http"

	"github.com/nestor-dev/nestor/internal/model"
)

// responses is the Responses API of OpenAI. Keys and errors are as in the chat completions API.
type responses struct{ chat }

func (responses) api() model.API { return model.OpenAIResponses }

func (responses) decode(_ *http.Request, body []byte, strict bool) (encoder, error) {
	return decodeRequest(body, strict, new(responsesRequest), notJSON, unknownParameter)
}

func unknownParameter(path string) *apiError {
	e := badRequest(path, "Unknown parameter: '%s'.", path)
	e.code = "unknown_parameter"
	return e
}

func missingParameter(path string) *apiError {
	e := badRequest(path, "Missing required parameter: '%s'.", path)
	e.code = "missing_required_parameter"
	return e
}

// invalidValue returns the error for a value at a path such as input[0].content.
func invalidValue(path, format string, args ...any) *apiError {
	e := badRequest(path, "%s", fmt.Sprintf(format, args...))
	e.code = "invalid_value"
	return e
}
