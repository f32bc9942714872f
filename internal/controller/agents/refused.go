// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"errors"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsRefused reports whether the API server rejected an object and a retry would not help: a quota, a policy, or an
// object that is invalid or too large. A conflict, too many requests, a timeout and a failing server are temporary; a
// namespace that is being deleted deletes everything in it.
func IsRefused(err error) bool {
	if err == nil || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false
	}
	message := err.Error()
	if strings.Contains(message, "status unknown for quota") { // the quota is new and its usage has not been computed
		return false
	}
	if apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(message, "etcdserver: request is too large") {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	// Missing permissions of the operator itself say nothing about the object. An API server that has just started has not
	// loaded its roles and rejects every request with this message.
	if apierrors.IsForbidden(err) && strings.Contains(message, " cannot create resource ") {
		return false
	}
	switch status.Status().Code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity:
		return true
	}
	return false
}
