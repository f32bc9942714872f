// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/internal/gateway/run"
)

// Problem is an error as all doors describe it.
type Problem struct {
	// Code is the status of HTTP, and Reason one word.
	Code       int
	Reason     string
	Message    string
	RetryAfter int // seconds; 0 means unknown
}

// ProblemOf describes an error without details that are not meant for callers.
func ProblemOf(err error) Problem {
	var status apierrors.APIStatus
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &status):
		s := status.Status()
		p := Problem{Code: int(s.Code), Reason: string(s.Reason), Message: s.Message}
		if p.Code == 0 {
			p.Code = http.StatusInternalServerError
		}
		if s.Details != nil {
			p.RetryAfter = int(s.Details.RetryAfterSeconds)
		}
		return p
	case errors.Is(err, run.ErrKeyReused):
		return Problem{Code: http.StatusConflict, Reason: "KeyReused", Message: err.Error()}
	case errors.As(err, &tooLarge):
		return Problem{Code: http.StatusRequestEntityTooLarge, Reason: "TooLarge", Message: "the request has more than " + strconv.FormatInt(tooLarge.Limit, 10) + " bytes"}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Problem{Code: http.StatusServiceUnavailable, Reason: "Interrupted", Message: "the request was interrupted; the run continues"}
	}
	return Problem{Code: http.StatusBadGateway, Reason: "Unreachable", Message: "the Kubernetes API server does not answer"}
}

func (p Problem) WriteHeaders(w http.ResponseWriter) {
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
}

func WriteJSON(w http.ResponseWriter, code int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "encode the response", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body) // the client may have disconnected
}

// IdempotencyKey returns the idempotency key of a request, or "".
func IdempotencyKey(r *http.Request) string { return r.Header.Get("Idempotency-Key") }
