// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	// maxInFlight bounds the requests of the operator, and maxPerNamespace those for tasks of one namespace, so that the
	// receivers of one namespace do not delay those of others.
	maxInFlight     = 256
	maxPerNamespace = 8
	// slotDelay is the delay before a delivery that has no slot is tried again.
	slotDelay = 500 * time.Millisecond
)

// notification is a state of an object that is delivered.
type notification struct {
	state string
	body  []byte
	// notice is a notification that is stored before it is sent, without a body; or nil.
	notice *push.Notice
}

// objectKey identifies a chat or a task.
type objectKey struct {
	kind string
	types.NamespacedName
}

// target is a receiver of the notifications about an object.
type target struct {
	id string
	// begin is the state from which a receiver without a record is notified.
	begin string
	// since returns the notifications that follow a state, oldest first.
	since func(newest string) []notification
	send  func(context.Context, notification) outcome
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
	start func(object objectKey, to target, n notification, done func(outcome))

	mu      sync.Mutex
	objects map[objectKey]*entry
	// inFlight and perNamespace count the attempts.
	inFlight     int
	perNamespace map[string]int
}

type entry struct {
	uid        types.UID
	deliveries map[string]*delivery // by the ID of the receiver
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

// update queues the states of an object for its receivers, and starts what is due.
func (o *outbox) update(name objectKey, object client.Object, targets []target, at time.Time) due {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.entryOf(name, object)
	var result due
	next, idle := map[string]push.Record{}, true
	for _, to := range targets {
		saved, known := e.saved[to.id]
		d := e.deliveries[to.id]
		if d == nil {
			d = newDelivery(saved)
			if !known {
				d.done.State = to.begin
			}
			e.deliveries[to.id] = d
		}
		for _, n := range to.since(d.newest()) {
			d.add(n)
		}
		if wait := o.advance(name, to, d, saved, at); wait > 0 && (result.after == 0 || wait < result.after) {
			result.after = wait
		}
		if record := d.record(); record.State != "" || len(record.Pending) > 0 {
			next[to.id] = record
		}
		idle = idle && len(d.queue) == 0
	}
	maps.DeleteFunc(e.deliveries, func(id string, d *delivery) bool {
		return !d.sending && !slices.ContainsFunc(targets, func(to target) bool { return to.id == id })
	})
	if !reflect.DeepEqual(next, e.saved) {
		result.record = next
		return result
	}
	// The record in memory is needed until the cache has it.
	if idle && reflect.DeepEqual(next, push.Records(object)) {
		delete(o.objects, name)
	}
	return result
}

func (o *outbox) entryOf(name objectKey, object client.Object) *entry {
	e := o.objects[name]
	if e == nil || e.uid != object.GetUID() {
		e = &entry{uid: object.GetUID(), deliveries: map[string]*delivery{}, saved: push.Records(object)}
		if o.objects == nil {
			o.objects, o.perNamespace = map[objectKey]*entry{}, map[string]int{}
		}
		o.objects[name] = e
	}
	return e
}

// newDelivery returns the queue of a receiver as it was stored.
func newDelivery(saved push.Record) *delivery {
	d := &delivery{done: saved}
	d.done.Pending = nil
	for _, n := range saved.Pending {
		d.queue = append(d.queue, notification{state: n.ID, notice: &n})
	}
	return d
}

// record returns what is stored about a receiver.
func (d *delivery) record() push.Record {
	record := d.done
	for _, n := range d.queue {
		if n.notice != nil {
			record.Pending = append(record.Pending, *n.notice)
		}
	}
	return record
}

// newest returns the newest state that was delivered, given up or queued.
func (d *delivery) newest() string {
	if len(d.queue) > 0 {
		return d.queue[len(d.queue)-1].state
	}
	return d.done.State
}

// add queues a state. If the queue is full, a notification that is not stored replaces the oldest one; others wait
// for the next update.
func (d *delivery) add(n notification) {
	if n.notice != nil {
		if len(d.queue) < maxQueued {
			numbered := *n.notice
			numbered.Sequence = d.done.Sequence + int64(len(d.queue)) + 1
			n.notice = &numbered
			d.queue = append(d.queue, n)
		}
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
func (o *outbox) advance(name objectKey, to target, d *delivery, saved push.Record, at time.Time) time.Duration {
	switch {
	case d.sending || len(d.queue) == 0:
		return 0
	case d.queue[0].notice != nil && (len(saved.Pending) == 0 || saved.Pending[0].Sequence != d.queue[0].notice.Sequence):
		return 0 // it is sent after it was stored
	case at.Before(d.due):
		return d.due.Sub(at)
	case o.inFlight >= maxInFlight || o.perNamespace[name.Namespace] >= maxPerNamespace:
		return slotDelay
	}
	d.sending = true
	o.inFlight++
	o.perNamespace[name.Namespace]++
	o.start(name, to, d.queue[0], func(result outcome) { o.finish(name, d, result) })
	return 0
}

// finish handles the outcome of an attempt.
func (o *outbox) finish(name objectKey, d *delivery, result outcome) {
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
	ended := d.queue[0]
	d.done.State, d.done.Error = ended.state, result.failure
	if ended.notice != nil {
		d.done.Sequence = ended.notice.Sequence
	}
	d.queue, d.attempts, d.due = d.queue[1:], 0, time.Time{}
}

// recorded marks records as written.
func (o *outbox) recorded(name objectKey, records map[string]push.Record) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e := o.objects[name]; e != nil {
		e.saved = records
	}
}

func (o *outbox) forget(name objectKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.objects, name)
}
