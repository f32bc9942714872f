// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// uses tracks the use of every workspace pod. It is in memory only: after a restart, the idle time of existing pods
// starts again.
type uses struct {
	now func() time.Time

	mu     sync.Mutex
	byName map[types.NamespacedName]*use
}

// use is the use of one pod name; the pods with it come and go.
type use struct {
	calls int
	last  time.Time
	// turn is closed and replaced when anything about the workspace has changed.
	turn chan struct{}
	// making is true from the creation of a pod until it is observed, or observed to be gone.
	making bool
	// leaving is the pod that is being removed because it was idle.
	leaving types.UID
	token   string
	// ends records how pods with this name ended, for the calls in them.
	ends map[types.UID]string
	// anew means that the pod replaced an earlier one whose files are gone, and told lists the agents that were
	// notified.
	anew bool
	told map[string]bool
}

func newUses(now func() time.Time) *uses {
	return &uses{now: now, byName: map[types.NamespacedName]*use{}}
}

// of returns the use of a pod name. The caller holds the lock.
func (u *uses) of(name types.NamespacedName) *use {
	found, ok := u.byName[name]
	if !ok {
		found = &use{last: u.now(), turn: make(chan struct{}), told: map[string]bool{}, ends: map[types.UID]string{}}
		u.byName[name] = found
	}
	return found
}

// with reads or changes the use of a pod name.
func (u *uses) with(name types.NamespacedName, do func(*use)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	do(u.of(name))
}

func (u *uses) enter(name types.NamespacedName) {
	u.with(name, func(one *use) { one.calls++ })
}

func (u *uses) leave(name types.NamespacedName) {
	u.with(name, func(one *use) { one.calls, one.last = one.calls-1, u.now() })
}

// turn returns a channel that is closed at the next change. Call it before reading what may change.
func (u *uses) turn(name types.NamespacedName) (turn <-chan struct{}) {
	u.with(name, func(one *use) { turn = one.turn })
	return turn
}

// changed wakes the calls that wait for a workspace.
func (u *uses) changed(name types.NamespacedName) {
	u.with(name, func(one *use) {
		close(one.turn)
		one.turn = make(chan struct{})
	})
}

// seen records that a pod exists, so that the next one may be created when it is gone.
func (u *uses) seen(name types.NamespacedName) {
	u.with(name, func(one *use) { one.making = false })
	u.changed(name)
}

// resume marks every pod as used now.
func (u *uses) resume() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, one := range u.byName {
		one.last = u.now()
	}
}

// gone records that there is no pod of a name.
func (u *uses) gone(name types.NamespacedName) {
	u.seen(name)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of(name).calls == 0 {
		delete(u.byName, name)
	}
}

// claim reports whether the caller must create the pod.
func (u *uses) claim(name types.NamespacedName) (mine bool) {
	u.with(name, func(one *use) { mine, one.making = !one.making, true })
	return mine
}

// tell reports whether an agent must be notified that the pod was recreated.
func (u *uses) tell(name types.NamespacedName, agent string) (news bool) {
	u.with(name, func(one *use) {
		news = one.anew && !one.told[agent]
		one.told[agent] = true
	})
	return news
}
