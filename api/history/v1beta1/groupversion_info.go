// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "history.nestor.dev", Version: "v1beta1"}

// AddToScheme registers the kinds of this package with a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Transcript{}, &TranscriptList{}, &TranscriptOptions{}, &TranscriptLogOptions{}, &TranscriptImageOptions{},
		&Trace{}, &TranscriptTraceOptions{}, &TranscriptCalls{}, &TranscriptCallsOptions{},
		&ModelCall{}, &ModelCallList{},
		&Usage{}, &UsageList{},
		&WorkspaceChanges{}, &WorkspaceFile{}, &WorkspaceFileOptions{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return errors.Join(addOptionConversions(scheme), addFieldLabels(scheme))
}
