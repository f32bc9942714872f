// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Secrets caches the Secrets that model calls and tools use. An entry is valid while its version is the one in the
// metadata cache, so most calls need no read from the API server, and a changed key takes effect at once.
type Secrets struct {
	mu   sync.Mutex
	kept map[types.NamespacedName]*corev1.Secret
}

// Secret reads a key of a Secret. The value never appears in an error.
func (f Finder) Secret(ctx context.Context, namespace string, ref v1beta1.SecretKeyRef) ([]byte, error) {
	secret, err := f.secret(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("get secret %s/%s: %w", namespace, ref.Name, err)
	}
	if err == nil && len(secret.Data[ref.Key]) > 0 {
		return secret.Data[ref.Key], nil
	}
	return nil, &Missing{Reason: v1beta1.ReasonSecretNotFound,
		Message: fmt.Sprintf("Create the Secret %q in the namespace %s with a value under the key %q.", ref.Name, namespace, ref.Key)}
}

func (f Finder) secret(ctx context.Context, name types.NamespacedName) (*corev1.Secret, error) {
	var secret corev1.Secret
	if f.Secrets == nil {
		err := f.Live.Get(ctx, name, &secret)
		return &secret, err
	}
	version, err := f.cachedVersion(ctx, "Secret", name)
	if err != nil {
		f.Secrets.put(name, nil)
		return nil, err
	}
	if cached := f.Secrets.get(name); cached != nil && cached.ResourceVersion == version {
		return cached, nil
	}
	if err := f.Live.Get(ctx, name, &secret); err != nil {
		return nil, err
	}
	f.Secrets.put(name, &secret)
	return &secret, nil
}

// Version returns the resource version of a Secret or ConfigMap in the metadata cache, or "" if there is none.
func (f Finder) Version(ctx context.Context, kind, namespace, name string) (string, error) {
	version, err := f.cachedVersion(ctx, kind, types.NamespacedName{Namespace: namespace, Name: name})
	return version, client.IgnoreNotFound(err)
}

func (f Finder) cachedVersion(ctx context.Context, kind string, name types.NamespacedName) (string, error) {
	var metadata metav1.PartialObjectMetadata
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	err := f.Reader.Get(ctx, name, &metadata)
	return metadata.ResourceVersion, err
}

// IdentitySecrets returns the Secrets with the API key or the credentials of a provider.
func IdentitySecrets(spec *v1beta1.ModelProviderSpec) []v1beta1.SecretKeyRef {
	var refs []v1beta1.SecretKeyRef
	add := func(ref *v1beta1.SecretKeyRef) {
		if ref != nil {
			refs = append(refs, *ref)
		}
	}
	add(spec.APIKeyRef)
	if spec.AWS != nil && spec.AWS.AccessKey != nil {
		key := spec.AWS.AccessKey
		add(&key.IDRef)
		add(&key.SecretRef)
		add(key.SessionTokenRef)
	}
	if spec.GoogleCloud != nil {
		add(spec.GoogleCloud.ServiceAccountKeyRef)
	}
	return refs
}

// Headers returns a function that reads the values of headers from their Secrets.
func (f Finder) Headers(namespace string, from []v1beta1.HeaderSource) func(context.Context) (http.Header, error) {
	return func(ctx context.Context) (http.Header, error) {
		values := http.Header{}
		for _, h := range from {
			value, err := f.Secret(ctx, namespace, h.SecretKeyRef)
			if err != nil {
				return nil, err
			}
			values.Set(h.Name, strings.TrimSpace(string(value)))
		}
		return values, nil
	}
}

func (s *Secrets) get(name types.NamespacedName) *corev1.Secret {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[name]
}

// put stores a Secret; nil removes it.
func (s *Secrets) put(name types.NamespacedName, secret *corev1.Secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if secret == nil {
		delete(s.kept, name)
		return
	}
	if s.kept == nil {
		s.kept = map[types.NamespacedName]*corev1.Secret{}
	}
	s.kept[name] = secret
}
