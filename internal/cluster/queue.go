// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

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

// delay is how long progress may accumulate before a reconcile. reconcilesPerSecond bounds such reconciles: with a
// thousand active agents each is reconciled less often, because the pace of status writes could not show more anyway.
const (
	delay               = time.Second
	reconcilesPerSecond = 25
)

// endPriority is the priority of work that has ended in the controller's queue: its result is written before other work
// starts, which has priority 0, or shows progress. An object ends once and only after it has started, so ends cannot
// keep others from starting.
const endPriority = 100

// Queue passes names to a controller. Adding never blocks, and a waiting name is queued once.
type Queue struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	early map[types.NamespacedName]bool // added before the controller started
	due   map[types.NamespacedName]*time.Timer
}

// NewQueue returns a queue for one controller.
func NewQueue() *Queue {
	return &Queue{early: map[types.NamespacedName]bool{}, due: map[types.NamespacedName]*time.Timer{}}
}

// Add reconciles an object at once.
func (q *Queue) Add(name types.NamespacedName) { q.add(name, 0) }

// AddEnded reconciles an object whose work has ended before those that were added with Add.
func (q *Queue) AddEnded(name types.NamespacedName) { q.add(name, endPriority) }

func (q *Queue) add(name types.NamespacedName, priority int) {
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
	q.enqueue(name, priority)
}

// AddDelayed reconciles an object within about a second, or later if very many are waiting, for progress that is not
// urgent. Progress that accumulates in between costs one reconcile, and names that were added with Add come first.
func (q *Queue) AddDelayed(name types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue == nil {
		q.early[name] = true
		return
	}
	if _, ok := q.due[name]; ok {
		return
	}
	// AddAfter of the controller's queue is not enough: a reconcile for another reason would replace this one.
	after := max(delay, time.Duration(len(q.due))*time.Second/reconcilesPerSecond)
	q.due[name] = time.AfterFunc(after, func() { q.addDue(name) })
}

func (q *Queue) addDue(name types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.due, name)
	q.enqueue(name, handler.LowPriority)
}

// enqueue adds a name to the controller's queue, which has priorities unless it is that of a test.
func (q *Queue) enqueue(name types.NamespacedName, priority int) {
	request := reconcile.Request{NamespacedName: name}
	byPriority, ok := q.queue.(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok {
		q.queue.Add(request)
		return
	}
	byPriority.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, request)
}

// Source returns the source for the controller.
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

// DelayedHandler returns a handler for watches: a change of an object reconciles the object that it belongs to with a
// delay.
func (q *Queue) DelayedHandler(belongsTo func(client.Object) (types.NamespacedName, bool)) handler.EventHandler {
	return Handler(func(object client.Object) {
		if name, ok := belongsTo(object); ok {
			q.AddDelayed(name)
		}
	})
}

// Handler returns a handler for watches, which calls wake with an object that was created, changed or deleted.
func Handler(wake func(client.Object)) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ queue) { wake(e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) { wake(e.ObjectNew) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { wake(e.Object) },
	}
}
