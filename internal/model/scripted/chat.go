// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"fmt"
	"net/http"

	"github.com/nestor-dev/nestor/internal/model"
)

// chat is the chat completions API of OpenAI.
type chat struct{}

func (chat) api() model.API { return model.OpenAI }

func (chat) key(r *http.Request) string { return bearer(r) }

func (chat) wrongKey(key string) *apiError {
	e := &apiError{status: http.StatusUnauthorized, kind: invalidRequest, code: codeWrongKey, message: "You didn't provide an API key."}
	if key != "" {
		e.message = fmt.Sprintf("Incorrect API key provided: %s.", key)
	}
	return e
}

func (chat) decode(_ *http.Request, body []byte, strict bool) (encoder, error) {
	return decodeRequest(body, strict, new(chatRequest), notJSON, func(field string) *apiError {
		return badRequest(field, "Unrecognized request argument supplied: %s", field)
	})
}

// notJSON is how OpenAI reports a body that is not JSON.
const notJSON = "We could not parse the JSON body of your request: %v"

// openAIError is an error in the form of OpenAI's APIs.
type openAIError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func newOpenAIError(e *apiError) openAIError {
	out := openAIError{Message: e.message, Type: e.kind}
	switch {
	case e.message != "":
	case e.code == codeUnknownModel:
		out.Message = fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", e.model)
	case e.code == codeContextTooLong:
		out.Message = "This model's maximum context length is 128000 tokens. Please reduce the length of the messages."
	case e.code == codeNoQuota:
		out.Message = "You exceeded your current quota, please check your plan and billing details."
	default:
		out.Message = http.StatusText(e.status)
	}
	if e.param != "" {
		out.Param = &e.param
	}
	if e.code != "" {
		out.Code = &e.code
	}
	return out
}

func (chat) failed(e *apiError) (int, any) {
	return e.status, map[string]any{"error": newOpenAIError(e)}
}

func (chat) list(models []string) any {
	type entry struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	var data []entry
	for _, id := range models {
		data = append(data, entry{id, "model", created, "nestor"})
	}
	return map[string]any{"object": "list", "data": data}
}
