// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTransientErrorIsNoRefusal(t *testing.T) {
	resource := schema.GroupResource{Group: "nestor.dev", Resource: "agenttasks"}
	kind := schema.GroupKind{Group: "nestor.dev", Kind: "AgentTask"}
	terminating := apierrors.NewForbidden(resource, "a", errors.New("unable to create new content"))
	terminating.ErrStatus.Details.Causes = append(terminating.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	for name, test := range map[string]struct {
		err     error
		refused bool
	}{
		"nothing":                             {nil, false},
		"missing permissions of the operator": {apierrors.NewForbidden(resource, "a", errors.New(`User "o" cannot create resource "agenttasks" in API group "nestor.dev"`)), false},
		"a quota":                             {apierrors.NewForbidden(resource, "a", errors.New("exceeded quota: tasks")), true},
		"an uncounted quota":                  {apierrors.NewForbidden(resource, "a", errors.New("status unknown for quota: tasks")), false},
		"an invalid object":                   {apierrors.NewInvalid(kind, "a", nil), true},
		"a bad request":                       {apierrors.NewBadRequest("no"), true},
		"a too large object":                  {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), true},
		"a too large object, as etcd says":    {apierrors.NewInternalError(errors.New("etcdserver: request is too large")), true},
		"a terminating namespace":             {terminating, false},
		"no such namespace":                   {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "a"), false},
		"a conflict":                          {apierrors.NewConflict(resource, "a", errors.New("changed")), false},
		"too many requests":                   {apierrors.NewTooManyRequests("later", 1), false},
		"a timeout":                           {apierrors.NewTimeoutError("slow", 1), false},
		"a server in trouble":                 {apierrors.NewInternalError(errors.New("broken")), false},
		"no server":                           {errors.New("connection refused"), false},
	} {
		if got := IsRefused(test.err); got != test.refused {
			t.Errorf("%s: refused = %t", name, got)
		}
	}
}
