// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// References watches the kinds of objects that runs refer to.
type References struct {
	Cache cache.Cache
	// OperatorNamespace is the namespace of shared objects: a change there may affect every namespace.
	OperatorNamespace string
	Unresolved        []*Unresolved

	mu   sync.Mutex
	next chan struct{} // nil if nothing waits for it
}

// Next returns a channel that is closed with the next change. A caller that gets it before it reads the cache misses no
// change.
func (w *References) Next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next == nil {
		w.next = make(chan struct{})
	}
	return w.next
}

// Start implements manager.Runnable. The handlers run as long as the cache.
func (w *References) Start(ctx context.Context) error {
	secret, config := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	config.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	for _, object := range []client.Object{
		&v1beta1.AgentChat{}, &v1beta1.AgentRole{}, &v1beta1.ModelProvider{}, &v1beta1.ToolServer{}, &v1beta1.SubAgent{}, &corev1.Namespace{}, secret, config,
	} {
		informer, err := w.Cache.GetInformer(ctx, object)
		if err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    w.changed,
			UpdateFunc: func(_, now any) { w.changed(now) },
		}); err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
	}
	return nil
}

func (w *References) changed(object any) {
	named, ok := object.(client.Object)
	if !ok {
		return
	}
	namespace := named.GetNamespace()
	if namespace == w.OperatorNamespace {
		namespace = ""
	}
	w.Retry(namespace)
}

// Retry enqueues all objects of a namespace that have an unresolved reference, or those of all namespaces if it is
// empty.
func (w *References) Retry(namespace string) {
	w.mu.Lock()
	if w.next != nil {
		close(w.next)
		w.next = nil
	}
	w.mu.Unlock()
	for _, unresolved := range w.Unresolved {
		unresolved.Retry(namespace)
	}
}
