// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
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

// quotas is the state of the checks of quotas. One goroutine asks the ledger for all waiting calls when something has
// changed or a period has ended.
type quotas struct {
	// dirty are the namespaces to check, and checking reports that a goroutine does so.
	dirty      map[string]bool
	checking   bool
	namespaces map[string]*namespaceQuotas
	// alarm triggers the next check.
	alarm   *time.Timer
	alarmAt time.Time
}

type namespaceQuotas struct {
	// counted are the periods whose calls were counted since the quotas appeared; recount requests it again.
	counted map[time.Time]bool
	recount bool
	// reserved are the keys of calls with a reservation.
	reserved map[string]bool
}

// quotaDelay describes the quota that delayed a call: the reason, the name of the quota, and when that quota resets.
type quotaDelay struct {
	reason, quota string
	resets        time.Time
}

func newQuotas() quotas {
	return quotas{dirty: map[string]bool{}, namespaces: map[string]*namespaceQuotas{}}
}

// limiting returns the quotas of a namespace that limit the usage of calls.
func (q *Queue) limiting(namespace string) ([]quota.Quota, error) {
	if q.options.Quotas == nil {
		return nil, nil
	}
	all, err := q.options.Quotas.Quotas(q.ctx, namespace)
	if err != nil || !quota.CountsCalls(all) {
		return nil, err
	}
	return all, nil
}

// CostLimit describes a cost limit that a call of an agent counts against, or returns an empty string.
func (q *Queue) CostLimit(a ledger.Agent, b *Budgets) (string, error) {
	if name := b.findCostLimit(a.UID); name != "" {
		return "the budget of " + name, nil
	}
	limits, err := q.limiting(a.Namespace)
	if money, ok := quota.NeedsPrice(limits); ok {
		return "AgentQuota " + money.Name, nil
	}
	return "", err
}

// enterQuota lets a call pass if its namespace has no quota. Otherwise it waits for its reservation.
func (q *Queue) enterQuota(c *Call) {
	if !c.at(atQuota) {
		return
	}
	limits, err := q.limiting(c.Agent.Namespace)
	switch {
	case err != nil:
		c.leave(&Refusal{Failure: agent.FailureRetry, Message: err.Error()})
		return
	case limits == nil:
		q.enterProvider(c)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.gate != left {
		q.waiting[atQuota] = append(q.waiting[atQuota], c)
		q.markDirty(c.Agent.Namespace)
	}
}

// CallsEnded handles calls with results: what they reserved and did not use is available to others.
func (q *Queue) CallsEnded(namespace string, results []ledger.ModelResult) {
	if len(results) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	state, ok := q.quotas.namespaces[namespace]
	if !ok {
		return
	}
	for _, r := range results {
		if !state.reserved[r.Key] && r.Status == ledger.StatusSuccess {
			state.recount = true // it started before there was a quota
		}
		delete(state.reserved, r.Key)
	}
	q.markDirtyIfWaiting(namespace)
	q.notifyUsage(namespace)
}

// QuotasChanged handles a change of a namespace's quotas, or of all namespaces if it is empty.
func (q *Queue) QuotasChanged(namespace string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.markDirtyIfWaiting(namespace)
}

// markDirtyIfWaiting schedules a check of a namespace in which calls wait, or of all such namespaces.
func (q *Queue) markDirtyIfWaiting(namespace string) {
	for _, c := range q.waiting[atQuota] {
		if namespace == "" || c.Agent.Namespace == namespace {
			q.markDirty(c.Agent.Namespace)
		}
	}
}

func (q *Queue) notifyUsage(namespace string) {
	if notify := q.options.QuotaUsageChanged; notify != nil {
		notify(namespace)
	}
}

// markDirty schedules a check of a namespace. The lock must be held.
func (q *Queue) markDirty(namespace string) {
	q.quotas.dirty[namespace] = true
	if q.quotas.checking || q.ctx.Err() != nil {
		return
	}
	q.quotas.checking = true
	q.busy.Go(q.checkDirty)
}

// checkDirty checks dirty namespaces until there are none.
func (q *Queue) checkDirty() {
	for {
		q.mu.Lock()
		namespaces := slices.Sorted(maps.Keys(q.quotas.dirty))
		clear(q.quotas.dirty)
		if len(namespaces) == 0 || q.ctx.Err() != nil {
			q.quotas.checking = false
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		if err := q.checkNamespaces(namespaces); err != nil && q.ctx.Err() == nil {
			q.options.ReportError(fmt.Errorf("check quotas: %w", err))
			q.scheduleCheck(q.options.RetryDelay)
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

// reserve sends a request to the ledger for each namespace. A period that was not counted yet is counted with it.
func (q *Queue) reserve(ctx context.Context, requests []ledger.QuotaRequest) ([]ledger.QuotaAnswer, error) {
	q.mu.Lock()
	for i := range requests {
		s := q.quotas.namespace(requests[i].Namespace)
		uncounted := func(l ledger.QuotaLimit) bool { return !s.counted[l.Since] }
		requests[i].Recount = s.recount || slices.ContainsFunc(requests[i].Limits, uncounted)
		s.recount = false
	}
	q.mu.Unlock()
	answers, err := q.options.Ledger.Reserve(ctx, requests)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range requests {
		s := q.quotas.namespace(r.Namespace)
		if err != nil {
			s.recount = s.recount || r.Recount
			continue
		}
		clear(s.counted) // drop periods that have ended
		for _, limit := range r.Limits {
			s.counted[limit.Since] = true
		}
	}
	return answers, err
}

func (q *Queue) request(ns string, quotas []quota.Quota, calls []ledger.QuotaCall, now time.Time) ledger.QuotaRequest {
	return ledger.QuotaRequest{
		Namespace: ns, NamespaceUID: q.options.NamespaceUID(ns), At: now, Limits: quota.Limits(quotas, now), Calls: calls,
	}
}

// scheduleCheck schedules a check after some time, unless one is already scheduled sooner.
func (q *Queue) scheduleCheck(wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := time.Now().Add(wait)
	if len(q.waiting[atQuota]) == 0 || q.quotas.alarm != nil && !q.quotas.alarmAt.After(at) {
		return
	}
	if q.quotas.alarm != nil {
		q.quotas.alarm.Stop()
	}
	q.quotas.alarmAt = at
	q.quotas.alarm = time.AfterFunc(max(wait, 0), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.quotas.alarm = nil
		q.markDirtyIfWaiting("")
	})
}

// QuotaCounts returns what counts against the quotas of a namespace.
func (q *Queue) QuotaCounts(ctx context.Context, namespace string, limits []quota.Quota) ([]ledger.QuotaCount, error) {
	answers, err := q.reserve(ctx, []ledger.QuotaRequest{q.request(namespace, limits, nil, q.options.Now())})
	if err != nil {
		return nil, fmt.Errorf("count the usage of namespace %s: %w", namespace, err)
	}
	return answers[0].Counts, nil
}

// WaitingForQuota counts the calls of a namespace that wait for a quota, or those of all namespaces if it is empty,
// by the quota's name.
func (q *Queue) WaitingForQuota(namespace string) map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	counts := map[string]int{}
	for _, c := range q.waiting[atQuota] {
		if c.delay.quota != "" && (namespace == "" || c.Agent.Namespace == namespace) {
			counts[c.delay.quota]++
		}
	}
	return counts
}
