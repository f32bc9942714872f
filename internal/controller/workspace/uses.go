// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// podUses tracks the use of every workspace pod. It is in memory only: after a restart, the idle time of existing pods
// starts again.
type podUses struct {
	now func() time.Time

	mu     sync.Mutex
	byName map[types.NamespacedName]*podUse
}

// podUse is the use of one pod name, which successive pods have.
type podUse struct {
	calls int
	last  time.Time
	// changed is closed and replaced when anything about the workspace has changed.
	changed chan struct{}
	// creating is true from the creation of a pod until it is observed, or observed to be gone.
	creating bool
	// removing is the pod that is being removed because it was idle.
	removing types.UID
	token    string
	// outcomes records how pods with this name ended, for the calls in them.
	outcomes map[types.UID]string
	// recreated is the note that the pod replaced an earlier one; empty if it did not. notified has the agents that were
	// notified.
	recreated string
	notified  map[string]bool
	// restored is the pod that has got kept changes. served counts the calls that have ended, stored is how many of them
	// the changes in the ledger contain, and keepFailing is since when changes cannot be read.
	restored       types.UID
	served, stored int
	keepFailing    time.Time
}

func newPodUses(now func() time.Time) *podUses {
	return &podUses{now: now, byName: map[types.NamespacedName]*podUse{}}
}

// entry returns the use of a pod name. The caller holds the lock.
func (u *podUses) entry(name types.NamespacedName) *podUse {
	use, ok := u.byName[name]
	if !ok {
		use = &podUse{stored: -1, last: u.now(), changed: make(chan struct{}), notified: map[string]bool{}, outcomes: map[types.UID]string{}}
		u.byName[name] = use
	}
	return use
}

func (u *podUses) update(name types.NamespacedName, do func(*podUse)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	do(u.entry(name))
}

func (u *podUses) start(name types.NamespacedName) {
	u.update(name, func(one *podUse) { one.calls++ })
}

func (u *podUses) end(name types.NamespacedName) {
	u.update(name, func(one *podUse) { one.calls, one.served, one.last = one.calls-1, one.served+1, u.now() })
}

// watch returns a channel that is closed at the next change. Call it before reading what may change.
func (u *podUses) watch(name types.NamespacedName) (changed <-chan struct{}) {
	u.update(name, func(one *podUse) { changed = one.changed })
	return changed
}

// notify wakes the calls that wait for a workspace.
func (u *podUses) notify(name types.NamespacedName) {
	u.update(name, func(one *podUse) {
		close(one.changed)
		one.changed = make(chan struct{})
	})
}

// recordExists records that a pod exists, so that the next one may be created when it is gone.
func (u *podUses) recordExists(name types.NamespacedName) {
	u.update(name, func(one *podUse) { one.creating = false })
	u.notify(name)
}

// resume marks every pod as used now.
func (u *podUses) resume() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, one := range u.byName {
		one.last = u.now()
	}
}

// recordGone records that there is no pod of a name.
func (u *podUses) recordGone(name types.NamespacedName) {
	u.recordExists(name)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.entry(name).calls == 0 {
		delete(u.byName, name)
	}
}

// beginCreate reports whether the caller must create the pod.
func (u *podUses) beginCreate(name types.NamespacedName) (mustCreate bool) {
	u.update(name, func(one *podUse) { mustCreate, one.creating = !one.creating, true })
	return mustCreate
}

// recreationNote returns the note that the pod was recreated, once for each agent.
func (u *podUses) recreationNote(name types.NamespacedName, agent string) (note string) {
	u.update(name, func(one *podUse) {
		if !one.notified[agent] {
			note = one.recreated
		}
		one.notified[agent] = true
	})
	return note
}
