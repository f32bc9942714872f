// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package reference lets objects that wait for something they refer to be reconciled when it may have appeared.
package reference

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/internal/controller/poke"
)

// Unresolved remembers the objects of a kind that wait for something that they refer to. A change of anything that they
// might wait for lets them look again.
type Unresolved struct {
	// Queue is where they are looked at.
	Queue *poke.Queue

	mu    sync.Mutex
	names map[types.NamespacedName]bool
}

// Set remembers, or forgets, that an object lacks something.
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

// Retry looks again at those of a namespace, or at all if it is empty.
func (l *Unresolved) Retry(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.names {
		if namespace == "" || name.Namespace == namespace {
			l.Queue.Add(name)
		}
	}
}
