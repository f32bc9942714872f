// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

// doorName is the value of the label nestor.dev/door.
const doorName = "openai"

// door is the OpenAI API.
type door struct{ now func() time.Time }

func New() gateway.Door { return door{now: time.Now} }

func (door) Name() string { return doorName }

func (d door) Routes(mux *gateway.Mux) {
	mux.Handle("GET /v1/models", d.listModels)
	mux.Handle("GET /v1/models/{model...}", d.getModel)
	mux.Handle("POST /v1/chat/completions", d.complete)
	mux.Handle("POST /v1/responses", d.createResponse)
	mux.Handle("GET /v1/responses/{id}", d.getResponse)
	mux.Handle("POST /v1/responses/{id}/cancel", d.cancelResponse)
	mux.Handle("/v1/", func(_ http.ResponseWriter, r *http.Request, _ *run.Caller) error {
		return run.NotFound("There is no " + r.Method + " " + r.URL.Path + ": Nestor serves models, chat completions and responses of this API.")
	})
}

const typeInvalid = "invalid_request_error"

type apiError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

type badRequest struct{ param, message string }

func (b *badRequest) Error() string { return b.message }

func badf(param, format string, args ...any) error {
	return &badRequest{param, fmt.Sprintf(format, args...)}
}

// runFailed is a run that ended without success.
type runFailed struct{ kind, message string }

func (f *runFailed) Error() string { return f.message }

func (door) WriteError(w http.ResponseWriter, err error) {
	code, body := describe(err)
	gateway.ProblemOf(err).WriteHeaders(w)
	if code != http.StatusTooManyRequests && code != http.StatusServiceUnavailable && code != http.StatusBadGateway {
		// Official clients repeat requests after some errors, which would start the run again.
		w.Header().Set("X-Should-Retry", "false")
	}
	gateway.WriteJSON(w, code, map[string]any{"error": body})
}

func describe(err error) (int, apiError) {
	switch e := err.(type) { //nolint:errorlint // these errors are never wrapped
	case *badRequest:
		return http.StatusBadRequest, apiError{Message: e.message, Type: typeInvalid, Param: optional(e.param)}
	case *runFailed:
		// Clients repeat requests after most other statuses and, in a stream, most other types; see run.CannotStart.
		return http.StatusBadRequest, apiError{Message: e.message, Type: typeInvalid, Code: optional(e.kind)}
	}
	problem := gateway.ProblemOf(err)
	kind := typeInvalid
	switch {
	case problem.Code == http.StatusUnauthorized:
		kind = "authentication_error"
	case problem.Code == http.StatusForbidden:
		kind = "permission_error"
	case problem.Code == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case problem.Code >= http.StatusInternalServerError:
		kind = "server_error"
	}
	return problem.Code, apiError{Message: problem.Message, Type: kind, Code: optional(snake(problem.Reason))}
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// snake converts a reason of Kubernetes to the style of the API.
func snake(reason string) string {
	var b strings.Builder
	for i, r := range reason {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
