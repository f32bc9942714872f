// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsRefused says that the API server does not take an object, and that asking again would not help: a quota, a policy, an invalid or too
// large object. A conflict, too many requests, a timeout and a server in trouble pass by themselves; a namespace that is
// being deleted takes everything with it.
func IsRefused(err error) bool {
	if err == nil || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false
	}
	message := err.Error()
	if strings.Contains(message, "status unknown for quota") { // the quota is new and has not been counted
		return false
	}
	if apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(message, "etcdserver: request is too large") {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	// Missing rights of the operator itself are no judgement on the object. An API server that has just started has not
	// read its roles and refuses everything in these words.
	if apierrors.IsForbidden(err) && strings.Contains(message, " cannot create resource ") {
		return false
	}
	switch status.Status().Code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity:
		return true
	}
	return false
}
