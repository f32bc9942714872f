// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package poke lets work in process wake a controller: a session that changed, a probe that was answered, an agent
// that moved on.
package poke

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Queue hands names on to a controller. Adding never blocks, and a name that waits is there once.
type Queue struct {
	pokes chan event.TypedGenericEvent[types.NamespacedName]
	more  chan struct{}

	mu    sync.Mutex
	names []types.NamespacedName
	held  map[types.NamespacedName]bool
}

// New makes a queue. It is a manager.Runnable and hands on only while it runs.
func New() *Queue {
	return &Queue{
		pokes: make(chan event.TypedGenericEvent[types.NamespacedName]), more: make(chan struct{}, 1),
		held: map[types.NamespacedName]bool{},
	}
}

// Add wakes the controller for an object.
func (q *Queue) Add(name types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held[name] {
		return
	}
	q.held[name] = true
	q.names = append(q.names, name)
	select {
	case q.more <- struct{}{}:
	default:
	}
}

func (q *Queue) take() []types.NamespacedName {
	q.mu.Lock()
	defer q.mu.Unlock()
	names := q.names
	q.names, q.held = nil, map[types.NamespacedName]bool{}
	return names
}

// Start hands names on until ctx ends.
func (q *Queue) Start(ctx context.Context) error {
	for {
		select {
		case <-q.more:
		case <-ctx.Done():
			return nil
		}
		for _, name := range q.take() {
			select {
			case q.pokes <- event.TypedGenericEvent[types.NamespacedName]{Object: name}:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// Source is where a controller listens.
func (q *Queue) Source() source.Source {
	return source.TypedChannel(q.pokes, handler.TypedEnqueueRequestsFromMapFunc(
		func(_ context.Context, name types.NamespacedName) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: name}}
		}))
}
