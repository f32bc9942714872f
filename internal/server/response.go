// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func writeJSON(w http.ResponseWriter, code int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "encode the answer", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body) // the client may have disconnected
}

// writeError writes an error in the API server's form, so that the page has to handle only one form.
func writeError(w http.ResponseWriter, err error) {
	status := statusOf(err)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	writeJSON(w, int(status.Code), status)
}

// statusOf returns the API server's status. Any other error is a network error.
func statusOf(err error) metav1.Status {
	var apiErr apierrors.APIStatus
	if errors.As(err, &apiErr) {
		status := apiErr.Status()
		status.Kind, status.APIVersion = "Status", "v1"
		if status.Code == 0 {
			status.Code = http.StatusInternalServerError
		}
		return status
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return statusOf(apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("send at most %d KiB", large.Limit>>10)))
	}
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: http.StatusBadGateway, Reason: "Unreachable", Message: "The Kubernetes API server does not answer.",
	}
}

func statusError(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	writeError(w, statusError(http.StatusNotFound, metav1.StatusReasonNotFound, "The page's API does not offer this."))
}
