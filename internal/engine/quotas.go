// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/quota"
)

// Quotas finds the quotas of a namespace. It must answer from memory, because it is called before every model call.
type Quotas interface {
	Quotas(ctx context.Context, namespace string) ([]quota.Quota, error)
}

// Reasons of an agent.QuotaWait.
const (
	QuotaExhausted = "QuotaExhausted"
	PriceUnknown   = "PriceUnknown"
)

// quotaPollInterval is how often the ledger is read again while reservations of other engines block a call.
const quotaPollInterval = 10 * time.Second

// quotas delays model calls until the quotas of their namespace allow them. Waiting calls have no goroutine: one goroutine asks
// the ledger for all of them when something has changed or a period has ended.
type quotas struct {
	shared *shared

	mu      sync.Mutex
	pending []*quotaReservation
	// dirty are the namespaces to check, and checking reports that a goroutine does so.
	dirty      map[string]bool
	checking   bool
	namespaces map[string]*namespaceQuotas
	// alarm triggers the next check.
	alarm   *time.Timer
	alarmAt time.Time
}

// namespaceQuotas is the state of a namespace with quotas.
type namespaceQuotas struct {
	// counted are the periods whose calls were counted since the quotas appeared; recount requests it again.
	counted map[time.Time]bool
	recount bool
	// reserved are the keys of calls with a reservation.
	reserved map[string]bool
}

// quotaReservation is a model call that needs a reservation.
type quotaReservation struct {
	engine *Engine
	agent  ledger.Agent
	key    string
	// amount returns the most that the call may use, and whether its price is known.
	amount  func() (tokens, costMicros int64, priced bool)
	granted func()
	waits   func(agent.QuotaWait)
	// quota is the name of the quota that the call waits for, reason is why, and resets is when that quota resets.
	quota, reason string
	resets        time.Time
}

func newQuotas(s *shared) *quotas {
	return &quotas{shared: s, dirty: map[string]bool{}, namespaces: map[string]*namespaceQuotas{}}
}

// limiting returns the quotas of a namespace that limit the usage of calls.
func (q *quotas) limiting(namespace string) ([]quota.Quota, error) {
	if q.shared.options.Quotas == nil {
		return nil, nil
	}
	all, err := q.shared.options.Quotas.Quotas(q.shared.ctx, namespace)
	if err != nil || !quota.CountsCalls(all) {
		return nil, err
	}
	return all, nil
}

// reserve requests a reservation. It reports false if the namespace has no quota.
func (q *quotas) reserve(c *quotaReservation) (bool, error) {
	found, err := q.limiting(c.agent.Namespace)
	if err != nil || found == nil {
		return false, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending = append(q.pending, c)
	q.markDirty(c.agent.Namespace)
	return true, nil
}

// cancel cancels a waiting call and reports whether it was still waiting.
func (q *quotas) cancel(c *quotaReservation) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.pending, c)
	if i >= 0 {
		q.pending = slices.Delete(q.pending, i, i+1)
	}
	return i >= 0
}

// callsEnded handles calls with results: what they reserved and did not use is available to others.
func (q *quotas) callsEnded(namespace string, results []ledger.ModelResult) {
	if len(results) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	state, ok := q.namespaces[namespace]
	if !ok {
		return
	}
	for _, r := range results {
		if !state.reserved[r.Key] && r.Status == ledger.StatusSuccess {
			state.recount = true // it started before there was a quota
		}
		delete(state.reserved, r.Key)
	}
	q.markDirtyIfPending(namespace)
	q.notifyUsage(namespace)
}

// changed handles a change of the quotas of a namespace, or of all namespaces if it is empty.
func (q *quotas) changed(namespace string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if namespace != "" {
		q.markDirtyIfPending(namespace)
		return
	}
	for _, c := range q.pending {
		q.markDirty(c.agent.Namespace)
	}
}

func (q *quotas) markDirtyIfPending(namespace string) {
	if slices.ContainsFunc(q.pending, func(c *quotaReservation) bool { return c.agent.Namespace == namespace }) {
		q.markDirty(namespace)
	}
}

// notifyUsage reports that the counts of a namespace have changed.
func (q *quotas) notifyUsage(namespace string) {
	if notify := q.shared.options.QuotaUsageChanged; notify != nil {
		notify(namespace)
	}
}

// markDirty schedules a check of a namespace. The lock must be held.
func (q *quotas) markDirty(namespace string) {
	q.dirty[namespace] = true
	if q.checking || q.shared.ctx.Err() != nil {
		return
	}
	q.checking = true
	q.shared.busy.Add(1)
	go q.checkDirty()
}

// checkDirty checks dirty namespaces until there are none.
func (q *quotas) checkDirty() {
	defer q.shared.busy.Done()
	for {
		q.mu.Lock()
		namespaces := make([]string, 0, len(q.dirty))
		for namespace := range q.dirty {
			namespaces = append(namespaces, namespace)
		}
		clear(q.dirty)
		if len(namespaces) == 0 || q.shared.ctx.Err() != nil {
			q.checking = false
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		if err := q.checkNamespaces(namespaces); err != nil && q.shared.ctx.Err() == nil {
			q.shared.options.ReportError(fmt.Errorf("check quotas: %w", err))
			q.scheduleCheck(q.shared.options.LedgerRetryDelay)
		}
	}
}

// namespace returns the state of a namespace, creating it on first use.
func (q *quotas) namespace(namespace string) *namespaceQuotas {
	s, ok := q.namespaces[namespace]
	if !ok {
		s = &namespaceQuotas{counted: map[time.Time]bool{}, reserved: map[string]bool{}}
		q.namespaces[namespace] = s
	}
	return s
}

// request builds the ledger request for a namespace.
func (q *quotas) request(namespace string, found []quota.Quota, calls []ledger.QuotaCall, now time.Time) ledger.QuotaRequest {
	r := ledger.QuotaRequest{Namespace: namespace, NamespaceUID: q.shared.options.NamespaceUID(namespace), At: now, Limits: quota.Limits(found, now), Calls: calls}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.namespace(namespace)
	r.Recount = s.recount
	for _, limit := range r.Limits {
		r.Recount = r.Recount || !s.counted[limit.Since]
	}
	s.recount = false
	return r
}

// markCounted stores which periods a request has counted. After a failed request they are counted again.
func (q *quotas) markCounted(r ledger.QuotaRequest, failed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.namespace(r.Namespace)
	if failed {
		s.recount = s.recount || r.Recount
		return
	}
	clear(s.counted) // drop periods that have ended
	for _, limit := range r.Limits {
		s.counted[limit.Since] = true
	}
}

// drop drops the state of a namespace without quotas. Calls that are made meanwhile are counted when it has quotas again.
func (q *quotas) drop(namespace string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.namespaces, namespace)
}

// scheduleCheck schedules a check after some time, unless one is already scheduled sooner.
func (q *quotas) scheduleCheck(wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := time.Now().Add(wait)
	if len(q.pending) == 0 || q.alarm != nil && !q.alarmAt.After(at) {
		return
	}
	if q.alarm != nil {
		q.alarm.Stop()
	}
	q.alarmAt = at
	q.alarm = time.AfterFunc(max(wait, 0), func() {
		q.mu.Lock()
		q.alarm = nil
		q.mu.Unlock()
		q.changed("")
	})
}
