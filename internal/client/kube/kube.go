// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package kube has the kinds that clients of Nestor use, without discovery.
package kube

import (
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
)

// NewScheme returns a scheme with the kinds of Nestor and of its history, and with those groups of Kubernetes that clients use: all of them are
// megabytes of a program.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme, coordinationv1.AddToScheme,
		v1beta1.AddToScheme, historyv1.AddToScheme,
	} {
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
