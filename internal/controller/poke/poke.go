// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package poke lets work in process wake a controller: a session that changed, a probe that was answered, an agent
// that moved on.
package poke

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// soon is how long progress may gather before somebody looks, and looks is how many of those looks a controller takes in a second:
// with a thousand agents at work each is looked at less often, because no more could be shown anyway.
const (
	soon  = time.Second
	looks = 25
)

// Queue hands names on to a controller. Adding never blocks, and a name that waits is there once.
type Queue struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	early map[types.NamespacedName]bool // what was added before the controller ran
	due   map[types.NamespacedName]*time.Timer
}

// New makes a queue for one controller.
func New() *Queue {
	return &Queue{early: map[types.NamespacedName]bool{}, due: map[types.NamespacedName]*time.Timer{}}
}

// Add wakes the controller for an object at once.
func (q *Queue) Add(name types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if timer, ok := q.due[name]; ok {
		timer.Stop()
		delete(q.due, name)
	}
	if q.queue == nil {
		q.early[name] = true
		return
	}
	q.queue.Add(reconcile.Request{NamespacedName: name})
}

// AddSoon wakes the controller for an object within about a second, or later if very many move on: for progress that nobody waits
// for. What gathers meanwhile costs one look, and everything that was added with Add goes first.
func (q *Queue) AddSoon(name types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue == nil {
		q.early[name] = true
		return
	}
	if _, ok := q.due[name]; ok {
		return
	}
	// The controller's queue could wait as well, but a look for another reason would be taken for this one.
	after := max(soon, time.Duration(len(q.due))*time.Second/looks)
	q.due[name] = time.AfterFunc(after, func() { q.look(name) })
}

// look lets the controller look at progress.
func (q *Queue) look(name types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.due, name)
	request := reconcile.Request{NamespacedName: name}
	byPriority, ok := q.queue.(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok {
		q.queue.Add(request)
		return
	}
	low := handler.LowPriority
	byPriority.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, request)
}

// Source is where the controller listens.
func (q *Queue) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.queue = queue
		for name := range q.early {
			queue.Add(reconcile.Request{NamespacedName: name})
		}
		q.early = nil
		return nil
	})
}

// Soon is a handler of watches: a change of an object wakes the controller soon for the one that it belongs to.
func (q *Queue) Soon(belongsTo func(client.Object) (types.NamespacedName, bool)) handler.EventHandler {
	wake := func(object client.Object) {
		if name, ok := belongsTo(object); ok {
			q.AddSoon(name)
		}
	}
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ queue) { wake(e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) { wake(e.ObjectNew) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { wake(e.Object) },
	}
}
