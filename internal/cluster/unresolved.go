// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Unresolved holds the objects of a kind that wait for a missing reference. A change of any object that they might
// refer to enqueues them.
type Unresolved struct {
	// Queue is the queue of their controller.
	Queue *Queue

	mu    sync.Mutex
	names map[types.NamespacedName]bool
}

// Set records whether an object has an unresolved reference.
func (l *Unresolved) Set(name types.NamespacedName, unresolved bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !unresolved {
		delete(l.names, name)
		return
	}
	if l.names == nil {
		l.names = map[types.NamespacedName]bool{}
	}
	l.names[name] = true
}

// Retry enqueues the objects of a namespace, or all if it is empty.
func (l *Unresolved) Retry(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.names {
		if namespace == "" || name.Namespace == namespace {
			l.Queue.Add(name)
		}
	}
}
