// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// CancelledBy returns who cancelled a task or sub-agent. If spec.cancel was set directly, no name is recorded.
func CancelledBy(object client.Object) string {
	return cmp.Or(object.GetAnnotations()[v1alpha1.AnnotationCancelledBy], "spec.cancel of the task")
}
