// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/quota"
)

// quotaRound holds the waiting calls of one namespace that are checked together.
type quotaRound struct {
	quotas  []quota.Quota
	pending []*quotaReservation
	request ledger.QuotaRequest
}

// checkNamespaces checks the waiting calls of some namespaces with one ledger request.
func (q *quotas) checkNamespaces(namespaces []string) error {
	slices.Sort(namespaces)
	now := q.shared.options.Now()
	var rounds []quotaRound
	var requests []ledger.QuotaRequest
	for _, namespace := range namespaces {
		r, err := q.collect(namespace, now)
		if err != nil {
			return err
		}
		if len(r.pending) > 0 {
			rounds, requests = append(rounds, r), append(requests, r.request)
		}
	}
	if len(rounds) == 0 {
		q.schedule(now, false)
		return nil
	}
	answers, err := q.shared.options.Ledger.Reserve(q.shared.ctx, requests)
	for _, r := range requests {
		q.markCounted(r, err != nil)
	}
	if err != nil {
		return err
	}
	contended := false
	for i, r := range rounds {
		contended = contended || slices.ContainsFunc(answers[i].Counts, func(c ledger.QuotaCount) bool { return c.ReservedTokens+c.ReservedCostMicros > 0 })
		q.applyAnswer(r, answers[i], now)
	}
	q.schedule(now, contended)
	return nil
}

// collect collects the calls of a namespace that can be checked. Calls without a quota are granted, and those with an unknown
// price keep waiting.
func (q *quotas) collect(namespace string, now time.Time) (quotaRound, error) {
	q.mu.Lock()
	var waiting []*quotaReservation
	for _, c := range q.pending {
		if c.agent.Namespace == namespace {
			waiting = append(waiting, c)
		}
	}
	q.mu.Unlock()
	found, err := q.limiting(namespace)
	if err != nil {
		return quotaRound{}, err
	}
	if found == nil {
		q.drop(namespace)
		for _, c := range waiting {
			q.grant(c, false)
		}
		return quotaRound{}, nil
	}
	money, limitsMoney := quota.NeedsPrice(found)
	r := quotaRound{quotas: found}
	var calls []ledger.QuotaCall
	for _, c := range waiting {
		tokens, cost, priced := c.amount()
		if limitsMoney && !priced {
			q.refuse(c, money.Name, time.Time{}, agent.QuotaWait{Reason: PriceUnknown, Message: quota.PriceUnknown(money, c.agent.Model, c.agent.Provider)})
			continue
		}
		r.pending = append(r.pending, c)
		calls = append(calls, ledger.QuotaCall{Key: c.key, Tokens: tokens, CostMicros: cost})
	}
	if len(calls) > 0 {
		r.request = q.request(namespace, found, calls, now)
	}
	return r, nil
}

// applyAnswer starts the calls that got a reservation and reports to the others why they wait.
func (q *quotas) applyAnswer(r quotaRound, answer ledger.QuotaAnswer, now time.Time) {
	for i, c := range r.pending {
		if answer.Granted[i] {
			q.grant(c, true)
			continue
		}
		if exceeded, ok := quota.LongestWait(r.quotas, answer.Counts, r.request.Calls[i], now); ok {
			q.refuse(c, exceeded.Quota.Name, exceeded.Resets, agent.QuotaWait{Reason: QuotaExhausted, Message: exceeded.Message})
		}
	}
	q.notifyUsage(r.request.Namespace)
}

// grant starts a call, unless it was cancelled meanwhile. In that case the end of the call releases the reservation.
func (q *quotas) grant(c *quotaReservation, reserved bool) {
	if c.engine.actors.isClosed() || !q.cancel(c) { // a draining engine starts nothing new
		return
	}
	if reserved {
		q.mu.Lock()
		q.namespace(c.agent.Namespace).reserved[c.key] = true
		q.mu.Unlock()
	}
	c.granted()
}

// refuse reports to an agent why its call waits, once for each quota and period.
func (q *quotas) refuse(c *quotaReservation, name string, resets time.Time, wait agent.QuotaWait) {
	q.mu.Lock()
	known := c.quota == name && c.reason == wait.Reason && c.resets.Equal(resets) || !slices.Contains(q.pending, c)
	c.quota, c.reason, c.resets = name, wait.Reason, resets
	q.mu.Unlock()
	if !known {
		c.waits(wait)
	}
}

// schedule checks again at the next full hour, since every period ends with one. It checks sooner if calls in flight may release
// what is missing, because those of other engines send no notification, or if a price is missing.
func (q *quotas) schedule(now time.Time, contended bool) {
	wait := quota.Hour.End(now).Sub(now)
	if contended || q.waitsForPrice() {
		wait = min(wait, quotaPollInterval)
	}
	q.scheduleCheck(wait)
}

func (q *quotas) waitsForPrice() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.pending, func(c *quotaReservation) bool { return c.reason == PriceUnknown })
}

// waiting counts the waiting calls by the name of their quota.
func (q *quotas) waiting(namespace string) map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	counts := map[string]int{}
	for _, c := range q.pending {
		if c.agent.Namespace == namespace && c.quota != "" {
			counts[c.quota]++
		}
	}
	return counts
}

// totalWaiting counts the waiting calls of all namespaces.
func (q *quotas) totalWaiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := 0
	for _, c := range q.pending {
		if c.quota != "" {
			waiting++
		}
	}
	return waiting
}
