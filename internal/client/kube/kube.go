// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package kube has the kinds that clients of Nestor use, without discovery.
package kube

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
)

// NewScheme returns a scheme with the kinds of Kubernetes, of Nestor and of its history.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta1.AddToScheme, historyv1.AddToScheme} {
		utilruntime.Must(add(scheme)) // fails only if two kinds have the same name
	}
	return scheme
}

// NewMapper returns a mapper with the resources that clients use, which saves the discovery requests.
func NewMapper(scheme *runtime.Scheme) meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, version := range scheme.PrioritizedVersionsAllGroups() {
		for kind := range scheme.KnownTypes(version) {
			scope := meta.RESTScopeNamespace
			if clusterScoped[version.WithKind(kind).GroupKind().String()] {
				scope = meta.RESTScopeRoot
			}
			mapper.Add(version.WithKind(kind), scope)
		}
	}
	return mapper
}

// clusterScoped lists the cluster-scoped kinds that clients use.
var clusterScoped = map[string]bool{
	"Namespace": true, "SelfSubjectAccessReview.authorization.k8s.io": true, "SelfSubjectReview.authentication.k8s.io": true,
}
