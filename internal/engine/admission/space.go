// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	// sizesMaxAge is how long the sizes from the ledger are used; appends of this process are added to them meanwhile.
	sizesMaxAge = 30 * time.Second
	// sizesPollInterval is how often the sizes are read again while a namespace is at its quota.
	sizesPollInterval = 5 * time.Second
)

// tenant identifies a namespace by name and UID, since a name can be reused.
type tenant struct{ namespace, uid string }

func agentTenant(a ledger.Agent) tenant { return tenant{a.Namespace, a.NamespaceUID} }

// space is the size of the ledger's namespaces. The model calls of those that have reached the ledger quota wait:
// they write the most, and a call that is not made costs nothing. Calls in flight are still recorded, so a namespace
// may exceed its quota by what its agents have in flight.
type space struct {
	quota  int64 // 0 means no limit
	sizes  map[tenant]int64
	readAt time.Time
	// appended is not nil while the sizes are being read: what this process has written since, which the answer may not
	// contain.
	appended map[tenant]int64
}

func newSpace(quota int64) space { return space{quota: quota, sizes: map[tenant]int64{}} }

func (s *space) fresh(now time.Time) bool { return now.Sub(s.readAt) < sizesMaxAge }

func (s *space) full(t tenant) bool { return s.quota > 0 && s.sizes[t] >= s.quota }

func (s *space) beginReading() { s.appended = map[tenant]int64{} }

// set replaces the sizes by those that were read. What was appended meanwhile is added: counted twice until the next
// reading rather than not at all.
func (s *space) set(sums []ledger.NamespaceBytes, now time.Time) {
	s.readAt = now
	clear(s.sizes)
	for _, sum := range sums {
		s.sizes[tenant{sum.Namespace, sum.UID}] = sum.Bytes
	}
	for t, bytes := range s.appended {
		s.sizes[t] += bytes
	}
}

// add counts what this process has written.
func (s *space) add(t tenant, bytes int64) {
	s.sizes[t] += bytes
	if s.appended != nil {
		s.appended[t] += bytes
	}
}

// enterSpace lets a call pass if its namespace is below its ledger quota.
func (q *Queue) enterSpace(c *Call) {
	q.mu.Lock()
	pass := q.space.quota == 0 || q.space.fresh(time.Now()) && !q.space.full(agentTenant(c.Agent))
	if !pass && c.gate != left {
		q.waiting[atSpace] = append(q.waiting[atSpace], c)
		q.readSizes()
	}
	q.mu.Unlock()
	if pass {
		q.enterQuota(c)
	}
}

// readSizes starts reading the sizes, unless that is already in progress. The lock must be held.
func (q *Queue) readSizes() {
	if q.space.appended != nil || q.ctx.Err() != nil {
		return
	}
	q.space.beginReading()
	q.busy.Go(func() {
		sums, err := q.options.Ledger.Bytes(q.ctx)
		if err != nil && q.ctx.Err() == nil {
			q.options.ReportError(fmt.Errorf("read ledger sizes: %w", err))
		}
		q.applySizes(sums, err)
	})
}

// applySizes checks the waiting calls. It reads again later while a namespace is full or the sizes could not be read.
func (q *Queue) applySizes(sums []ledger.NamespaceBytes, err error) {
	q.mu.Lock()
	var after []func()
	if err == nil {
		q.space.set(sums, time.Now())
		q.waiting[atSpace] = slices.DeleteFunc(q.waiting[atSpace], func(c *Call) bool {
			if !q.space.full(agentTenant(c.Agent)) {
				after = append(after, func() { q.enterQuota(c) })
				return true
			}
			if c.delay.reason == "" {
				c.delay.reason = string(ledger.ReasonQuota)
				after = append(after, func() { c.Waits(q.spaceWait(c.Agent.Namespace)) })
			}
			return false
		})
	}
	q.space.appended = nil
	again := len(q.waiting[atSpace]) > 0
	q.mu.Unlock()
	for _, do := range after {
		do()
	}
	if again {
		time.AfterFunc(min(sizesPollInterval, 5*q.options.RetryDelay), func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.readSizes()
		})
	}
}

func (q *Queue) spaceWait(namespace string) *agent.QuotaWait {
	message := fmt.Sprintf("The namespace %s has filled its share of the ledger (%d bytes): %s.",
		namespace, q.space.quota, ledger.ReasonQuota.Advice())
	return &agent.QuotaWait{Reason: string(ledger.ReasonQuota), Message: message}
}

// Appended counts what this process has written for an agent.
func (q *Queue) Appended(a ledger.Agent, bytes int) {
	if q.space.quota == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.space.add(agentTenant(a), int64(bytes))
}

// LedgerFull returns why nothing new may start in a namespace, or nil. It answers from memory.
func (q *Queue) LedgerFull(namespace, uid string) error {
	if q.space.quota == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	full := q.space.full(tenant{namespace, uid})
	if !q.space.fresh(now) || full && now.Sub(q.space.readAt) > sizesPollInterval {
		q.readSizes()
	}
	if !full {
		return nil
	}
	err := errors.New("the namespace " + namespace + " has filled its share")
	return &ledger.Error{Op: "begin", Reason: ledger.ReasonQuota, Err: err}
}

// FullNamespaces counts the namespaces at their ledger quota, by the sizes last read.
func (q *Queue) FullNamespaces() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	names := map[string]bool{}
	for t := range q.space.sizes {
		if q.space.full(t) {
			names[t.namespace] = true
		}
	}
	return len(names)
}
