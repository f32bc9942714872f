// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/controller/poke"
)

// Lacking remembers the objects of a kind that wait for something that they refer to. A change of anything that they
// might wait for lets them look again.
type Lacking struct {
	// Queue is where they are looked at.
	Queue *poke.Queue

	mu    sync.Mutex
	names map[types.NamespacedName]bool
}

// Set remembers, or forgets, that an object lacks something.
func (l *Lacking) Set(name types.NamespacedName, lacks bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !lacks {
		delete(l.names, name)
		return
	}
	if l.names == nil {
		l.names = map[types.NamespacedName]bool{}
	}
	l.names[name] = true
}

// Retry looks again at those of a namespace, or at all if it is empty.
func (l *Lacking) Retry(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.names {
		if namespace == "" || name.Namespace == namespace {
			l.Queue.Add(name)
		}
	}
}

// References watches everything that runs refer to.
type References struct {
	Cache cache.Cache
	// OperatorNamespace is where shared objects stand: a change there may matter to everybody.
	OperatorNamespace string
	Lacking           []*Lacking
}

// Start implements manager.Runnable. The handlers work as long as the cache does.
func (r *References) Start(ctx context.Context) error {
	secret, config := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	config.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	for _, object := range []client.Object{
		&v1alpha1.AgentChat{}, &v1alpha1.AgentRole{}, &v1alpha1.ModelProvider{}, &v1alpha1.ToolServer{}, &v1alpha1.SubAgent{}, &corev1.Namespace{}, secret, config,
	} {
		informer, err := r.Cache.GetInformer(ctx, object)
		if err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    r.changed,
			UpdateFunc: func(_, now any) { r.changed(now) },
		}); err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
	}
	return nil
}

func (r *References) changed(object any) {
	named, ok := object.(client.Object)
	if !ok {
		return
	}
	namespace := named.GetNamespace()
	if namespace == r.OperatorNamespace {
		namespace = ""
	}
	r.Retry(namespace)
}

// Retry lets all that lack something in a namespace look again, or everybody if it is empty.
func (r *References) Retry(namespace string) {
	for _, lacking := range r.Lacking {
		lacking.Retry(namespace)
	}
}
