// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/push"
)

const (
	// maxAttempts is how often a notification is tried. With the delays, a receiver may be away for about ten minutes.
	maxAttempts = 8
	// firstDelay is the delay before the second attempt; it doubles, up to longestDelay.
	firstDelay   = 5 * time.Second
	longestDelay = 5 * time.Minute
	// maxQueued bounds the notifications that wait for one receiver. Beyond it the oldest is dropped.
	maxQueued = 8
	// maxInFlight bounds the requests of the operator, and maxPerNamespace those for tasks of one namespace, so that the receivers of one
	// namespace do not delay those of others.
	maxInFlight     = 256
	maxPerNamespace = 8
	// slotDelay is the delay before a delivery that has no slot is tried again.
	slotDelay = 500 * time.Millisecond
)

// notification is the state of a task that is delivered.
type notification struct {
	state string
	body  []byte
}

type outcome struct {
	// failure is empty after a success. It contains no secrets and no URL.
	failure string
	// final means that another attempt would fail, too.
	final bool
	// cause is what happened, for the operator's log.
	cause string
}

func (o outcome) result() string {
	switch {
	case o.failure == "":
		return "delivered"
	case o.final:
		return "refused"
	}
	return "failed"
}

// outbox has the notifications that are not delivered yet.
type outbox struct {
	// start starts an attempt, and returns at once. It calls done once.
	start func(task types.NamespacedName, config push.Config, n notification, done func(outcome))

	mu    sync.Mutex
	tasks map[types.NamespacedName]*entry
	// inFlight and perNamespace count the attempts.
	inFlight     int
	perNamespace map[string]int
}

type entry struct {
	uid        types.UID
	deliveries map[string]*delivery // by the ID of the configuration
	// saved are the records as they were last read or written.
	saved map[string]push.Record
}

// delivery is the queue of one receiver.
type delivery struct {
	queue    []notification
	attempts int // of the first in the queue
	due      time.Time
	sending  bool
	// done is the newest notification that was delivered or given up.
	done push.Record
}

// due is what a reconcile has to do after an update.
type due struct {
	// record are the records to write; nil if they have not changed.
	record map[string]push.Record
	// after is when to reconcile again; 0 if nothing is pending.
	after time.Duration
}

// update queues the state of a task for its receivers, and starts what is due.
func (o *outbox) update(task *v1beta1.AgentTask, configs []push.Config, now notification, at time.Time) due {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := types.NamespacedName{Namespace: task.Namespace, Name: task.Name}
	e := o.entryOf(name, task)
	var result due
	next, idle := map[string]push.Record{}, true
	for _, config := range configs {
		d := e.deliveries[config.ID]
		if d == nil {
			d = &delivery{done: e.saved[config.ID]}
			e.deliveries[config.ID] = d
		}
		d.add(now)
		if wait := o.advance(name, config, d, at); wait > 0 && (result.after == 0 || wait < result.after) {
			result.after = wait
		}
		if d.done.State != "" {
			next[config.ID] = d.done
		}
		idle = idle && len(d.queue) == 0
	}
	maps.DeleteFunc(e.deliveries, func(id string, d *delivery) bool {
		return !d.sending && !hasID(configs, id)
	})
	if !maps.Equal(next, e.saved) {
		result.record = next
		return result
	}
	// A task that has ended gets no more notifications. The record in memory is needed until the cache has it.
	if idle && task.Status.CompletionTime != nil && maps.Equal(next, push.Records(task)) {
		delete(o.tasks, name)
	}
	return result
}

func hasID(configs []push.Config, id string) bool {
	for _, config := range configs {
		if config.ID == id {
			return true
		}
	}
	return false
}

func (o *outbox) entryOf(name types.NamespacedName, task *v1beta1.AgentTask) *entry {
	e := o.tasks[name]
	if e == nil || e.uid != task.UID {
		e = &entry{uid: task.UID, deliveries: map[string]*delivery{}, saved: push.Records(task)}
		if o.tasks == nil {
			o.tasks, o.perNamespace = map[types.NamespacedName]*entry{}, map[string]int{}
		}
		o.tasks[name] = e
	}
	return e
}

// add queues a state that is not that of the newest notification.
func (d *delivery) add(n notification) {
	newest := d.done.State
	if len(d.queue) > 0 {
		newest = d.queue[len(d.queue)-1].state
	}
	if n.state == "" || n.state == newest {
		return
	}
	d.queue = append(d.queue, n)
	if len(d.queue) <= maxQueued {
		return
	}
	oldest := 0
	if d.sending {
		oldest = 1
	} else {
		d.attempts, d.due = 0, time.Time{}
	}
	d.queue = append(d.queue[:oldest], d.queue[oldest+1:]...)
}

// advance starts the next attempt if it is due, and returns when to reconcile again.
func (o *outbox) advance(name types.NamespacedName, config push.Config, d *delivery, at time.Time) time.Duration {
	switch {
	case d.sending || len(d.queue) == 0:
		return 0
	case at.Before(d.due):
		return d.due.Sub(at)
	case o.inFlight >= maxInFlight || o.perNamespace[name.Namespace] >= maxPerNamespace:
		return slotDelay
	}
	d.sending = true
	o.inFlight++
	o.perNamespace[name.Namespace]++
	o.start(name, config, d.queue[0], func(result outcome) { o.finish(name, d, result) })
	return 0
}

// finish handles the outcome of an attempt.
func (o *outbox) finish(name types.NamespacedName, d *delivery, result outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.inFlight--
	if o.perNamespace[name.Namespace]--; o.perNamespace[name.Namespace] == 0 {
		delete(o.perNamespace, name.Namespace)
	}
	d.sending = false
	d.attempts++
	if result.failure != "" && !result.final && d.attempts < maxAttempts {
		d.due = time.Now().Add(min(firstDelay<<(d.attempts-1), longestDelay))
		return
	}
	d.done = push.Record{State: d.queue[0].state, Error: result.failure}
	d.queue, d.attempts, d.due = d.queue[1:], 0, time.Time{}
}

// recorded marks records as written.
func (o *outbox) recorded(name types.NamespacedName, records map[string]push.Record) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e := o.tasks[name]; e != nil {
		e.saved = records
	}
}

func (o *outbox) forget(name types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.tasks, name)
}
