// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/view"
)

// displayPause is how many times as long as computing a display the pause after it is, so that a page of a very large chat, in which much
// happens, takes at most a quarter of a processor.
const displayPause = 3

// displaySource is a source of a stream: how a chat or a standalone task is displayed. It computes that from the objects that other sources
// send, and sends what has changed.
type displaySource struct {
	chat    string
	task    string // a standalone task, instead of a chat
	out     *eventBuffer
	changed chan struct{} // has an element when the rest has changed

	mu       sync.Mutex
	missing  map[string]bool // resources that are being listed
	messages map[types.UID]v1beta1.AgentMessage
	tasks    map[types.UID]v1beta1.AgentTask
	agents   map[types.UID]v1beta1.SubAgent
}

func newDisplaySource(chat, task string, out *eventBuffer, resources ...string) *displaySource {
	d := &displaySource{chat: chat, task: task, out: out, changed: make(chan struct{}, 1), missing: map[string]bool{}}
	for _, resource := range resources {
		d.begin(resource)
	}
	return d
}

// begin forgets the objects of a resource, which is listed next. A nil source ignores it, as the other calls.
func (d *displaySource) begin(resource string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.missing[resource] = true
	switch resource {
	case messages:
		d.messages = map[types.UID]v1beta1.AgentMessage{}
	case tasks:
		d.tasks = map[types.UID]v1beta1.AgentTask{}
	case subAgents:
		d.agents = map[types.UID]v1beta1.SubAgent{}
	}
}

// complete marks that a resource was listed, or that it cannot be listed at present.
func (d *displaySource) complete(resource string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.missing, resource)
	d.notify()
}

func (d *displaySource) put(resource string, change watch.EventType, object *unstructured.Unstructured) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch resource {
	case messages:
		keep(d.messages, change, object)
	case tasks:
		keep(d.tasks, change, object)
	case subAgents:
		keep(d.agents, change, object)
	}
	d.notify()
}

func keep[T any](objects map[types.UID]T, change watch.EventType, object *unstructured.Unstructured) {
	delete(objects, object.GetUID())
	if change == watch.Deleted {
		return
	}
	if t := typed[T](object); t != nil {
		objects[object.GetUID()] = *t
	}
}

func (d *displaySource) notify() {
	select {
	case d.changed <- struct{}{}:
	default: // the next display includes this change
	}
}

// follow sends what has changed in the display until ctx ends. After the first display the page can show all of it.
func (d *displaySource) follow(ctx context.Context, _ string) error {
	sent := map[types.UID]string{}
	for first := true; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.changed:
		}
		began := time.Now()
		snapshot, complete := d.snapshot()
		if !complete {
			continue
		}
		chat := d.chat
		if task := snapshot.Task(d.task); task != nil {
			chat = task.Spec.Chat // a task of a chat can be opened like a standalone one
		}
		before := sent
		sent = map[types.UID]string{}
		display := encodeDisplay(snapshot.Display(chat))
		pause := time.After(displayPause * time.Since(began))
		for uid, data := range display {
			if sent[uid] = string(data); before[uid] == sent[uid] {
				continue
			}
			if err := d.out.put(ctx, event{name: "display", key: "display/" + string(uid), data: data}); err != nil {
				return err
			}
		}
		if first {
			first = false
			if err := d.out.put(ctx, event{name: "synced", data: encode(map[string]string{"resource": "displays"})}); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
		case <-pause:
		}
	}
}

// snapshot returns the objects, and whether none are missing.
func (d *displaySource) snapshot() (view.Snapshot, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return view.NewSnapshot(nil, slices.Collect(maps.Values(d.messages)), slices.Collect(maps.Values(d.tasks)), slices.Collect(maps.Values(d.agents))), len(d.missing) == 0
}

func encodeDisplay(display view.Display) map[types.UID][]byte {
	events := map[types.UID][]byte{}
	for uid, task := range display.Tasks {
		events[uid] = encode(map[string]any{"uid": uid, "display": task})
	}
	for uid, message := range display.Messages {
		events[uid] = encode(map[string]any{"uid": uid, "display": message})
	}
	return events
}
