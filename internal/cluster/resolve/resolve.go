// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package resolve looks up references by name: roles, model providers, tool servers, and keys of Secrets and
// ConfigMaps.
//
// Roles, providers and tool servers are looked up in the namespace of the referring object, then in the operator's
// namespace if the object there is shared with it; roles then among the built-in roles. A reference that does not exist
// is not a failure: the error is a *Missing, with the reason and message of a condition, and the referring object
// continues when the reference appears.
package resolve

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Finder looks up references.
type Finder struct {
	// Reader reads Nestor's kinds and namespaces, from a cache.
	Reader client.Reader
	// Live reads from the API server: Secrets and ConfigMaps, whose contents are not cached, and objects missing from the
	// cache.
	Live client.Reader
	// Secrets caches the Secrets in use. If nil, every use reads them from the API server.
	Secrets *Secrets
	// Revisions caches the revisions of gated roles. If nil, every use reads them from the API server.
	Revisions *Revisions
	// Absent confirms that an object missing from the cache does not exist. If nil, the cache is trusted.
	Absent *Absences
	// OperatorNamespace is the namespace of shared objects.
	OperatorNamespace string
}

// ReferringNamespace returns the namespace of the objects that may refer to an object of a namespace. It is empty for
// the operator's namespace: all namespaces may refer to the objects there.
func (f Finder) ReferringNamespace(namespace string) string {
	if namespace == f.OperatorNamespace {
		return ""
	}
	return namespace
}

// Missing is the error for a reference that does not exist or is not ready, with the reason and message of a condition.
type Missing struct {
	Reason  string
	Message string
}

func (m *Missing) Error() string { return m.Message }

// Provider finds a ModelProvider that a namespace may use.
func (f Finder) Provider(ctx context.Context, namespace, name string) (*v1beta1.ModelProvider, error) {
	return find(ctx, f, namespace, name, &v1beta1.ModelProvider{}, v1beta1.ReasonProviderNotFound,
		func(p *v1beta1.ModelProvider) *v1beta1.AllowedNamespaces { return p.Spec.AllowedNamespaces })
}

// MayUse reports whether a namespace may use a ModelProvider: its own, or one that is shared with it.
func (f Finder) MayUse(ctx context.Context, namespace string, provider *v1beta1.ModelProvider) (bool, error) {
	if provider.Namespace == namespace {
		return true, nil
	}
	return f.Allows(ctx, provider.Spec.AllowedNamespaces, namespace)
}

// ToolServer finds a ToolServer that a namespace may use.
func (f Finder) ToolServer(ctx context.Context, namespace, name string) (*v1beta1.ToolServer, error) {
	return find(ctx, f, namespace, name, &v1beta1.ToolServer{}, v1beta1.ReasonToolServerNotFound,
		func(s *v1beta1.ToolServer) *v1beta1.AllowedNamespaces { return s.Spec.AllowedNamespaces })
}

// ToolServers lists the ToolServers that a namespace may use, its own first. Its own hide shared ones of the same name.
func (f Finder) ToolServers(ctx context.Context, namespace string) ([]v1beta1.ToolServer, error) {
	var own, shared v1beta1.ToolServerList
	if err := f.Reader.List(ctx, &own, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list tool servers of %s: %w", namespace, err)
	}
	if namespace == f.OperatorNamespace {
		return own.Items, nil
	}
	if err := f.Reader.List(ctx, &shared, client.InNamespace(f.OperatorNamespace)); err != nil {
		return nil, fmt.Errorf("list tool servers of %s: %w", f.OperatorNamespace, err)
	}
	servers := own.Items
	for _, server := range shared.Items {
		if slices.ContainsFunc(own.Items, func(o v1beta1.ToolServer) bool { return o.Name == server.Name }) {
			continue
		}
		ok, err := f.Allows(ctx, server.Spec.AllowedNamespaces, namespace)
		if err != nil {
			return nil, err
		}
		if ok {
			servers = append(servers, server)
		}
	}
	return servers, nil
}

// find looks up an object in a namespace, then among the shared objects.
func find[T client.Object](ctx context.Context, f Finder, namespace, name string, object T, reason string,
	allowed func(T) *v1beta1.AllowedNamespaces,
) (T, error) {
	kind := kindName(object)
	var none T
	err := f.get(ctx, namespace, types.NamespacedName{Namespace: namespace, Name: name}, object)
	if err == nil {
		return object, nil
	}
	if !apierrors.IsNotFound(err) {
		return none, fmt.Errorf("get %s %s/%s: %w", kind, namespace, name, err)
	}
	missing := &Missing{Reason: reason, Message: fmt.Sprintf("Create the %s %q in the namespace %s", kind, name, namespace)}
	if namespace == f.OperatorNamespace {
		missing.Message += "."
		return none, missing
	}
	missing.Message += fmt.Sprintf(", or a shared one in %s whose allowedNamespaces include it.", f.OperatorNamespace)
	err = f.get(ctx, namespace, types.NamespacedName{Namespace: f.OperatorNamespace, Name: name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return none, missing
	case err != nil:
		return none, fmt.Errorf("get %s %s/%s: %w", kind, f.OperatorNamespace, name, err)
	}
	ok, err := f.Allows(ctx, allowed(object), namespace)
	switch {
	case err != nil:
		return none, err
	case !ok:
		return none, missing
	}
	return object, nil
}

func kindName(object client.Object) string {
	switch object.(type) {
	case *v1beta1.AgentRole:
		return "AgentRole"
	case *v1beta1.ModelProvider:
		return "ModelProvider"
	}
	return "ToolServer"
}

// Allows reports whether a shared object may be used in a namespace, or applies to it.
func (f Finder) Allows(ctx context.Context, allowed *v1beta1.AllowedNamespaces, namespace string) (bool, error) {
	if allowed == nil {
		return false, nil
	}
	switch allowed.From {
	case v1beta1.NamespacesAll:
		return true, nil
	case v1beta1.NamespacesSelector:
		selector, err := metav1.LabelSelectorAsSelector(allowed.Selector)
		if err != nil {
			return false, nil //nolint:nilerr // a selector that cannot be read selects nothing
		}
		var ns corev1.Namespace
		if err := f.Find(ctx, types.NamespacedName{Name: namespace}, &ns); err != nil {
			return false, fmt.Errorf("get namespace %s: %w", namespace, err)
		}
		return selector.Matches(labels.Set(ns.Labels)), nil
	}
	return false, nil
}

// ConfigMap reads a key of a ConfigMap.
func (f Finder) ConfigMap(ctx context.Context, namespace string, ref v1beta1.ConfigMapKeyRef) (string, error) {
	var config corev1.ConfigMap
	err := f.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, &config)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("get config map %s/%s: %w", namespace, ref.Name, err)
	}
	value, ok := config.Data[ref.Key]
	if !ok || value == "" {
		return "", &Missing{Reason: v1beta1.ReasonConfigMapNotFound,
			Message: fmt.Sprintf("Create the ConfigMap %q in the namespace %s with text under the key %q.", ref.Name, namespace, ref.Key)}
	}
	return value, nil
}
