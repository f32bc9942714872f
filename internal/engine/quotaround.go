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

// namespaceRound is the waiting calls of one namespace that are checked together.
type namespaceRound struct {
	quotas  []quota.Quota
	claims  []*quotaClaim
	request ledger.QuotaRequest
}

// round checks the waiting calls of some namespaces with one ledger request.
func (q *quotas) round(namespaces []string) error {
	slices.Sort(namespaces)
	now := q.engine.options.Now()
	var rounds []namespaceRound
	var requests []ledger.QuotaRequest
	for _, namespace := range namespaces {
		r, err := q.gather(namespace, now)
		if err != nil {
			return err
		}
		if len(r.claims) > 0 {
			rounds, requests = append(rounds, r), append(requests, r.request)
		}
	}
	if len(rounds) == 0 {
		q.schedule(now, false)
		return nil
	}
	answers, err := q.engine.options.Ledger.Reserve(q.engine.ctx, requests)
	for _, r := range requests {
		q.counted(r, err != nil)
	}
	if err != nil {
		return err
	}
	contended := false
	for i, r := range rounds {
		contended = contended || slices.ContainsFunc(answers[i].Counts, func(c ledger.QuotaCount) bool { return c.ReservedTokens+c.ReservedCostMicros > 0 })
		q.answer(r, answers[i], now)
	}
	q.schedule(now, contended)
	return nil
}

// gather collects the calls of a namespace that can be checked. Calls without a quota are granted, and those with an unknown
// price keep waiting.
func (q *quotas) gather(namespace string, now time.Time) (namespaceRound, error) {
	q.mu.Lock()
	var waiting []*quotaClaim
	for _, c := range q.claims {
		if c.agent.Namespace == namespace {
			waiting = append(waiting, c)
		}
	}
	q.mu.Unlock()
	found, err := q.of(namespace)
	if err != nil {
		return namespaceRound{}, err
	}
	if found == nil {
		q.forget(namespace)
		for _, c := range waiting {
			q.grant(c, false)
		}
		return namespaceRound{}, nil
	}
	money, limitsMoney := quota.NeedsPrice(found)
	r := namespaceRound{quotas: found}
	var calls []ledger.QuotaCall
	for _, c := range waiting {
		tokens, cost, priced := c.amount()
		if limitsMoney && !priced {
			q.refuse(c, money.Name, time.Time{}, agent.QuotaWait{Reason: PriceUnknown, Message: quota.PriceUnknown(money, c.agent.Model, c.agent.Provider)})
			continue
		}
		r.claims = append(r.claims, c)
		calls = append(calls, ledger.QuotaCall{Key: c.key, Tokens: tokens, CostMicros: cost})
	}
	if len(calls) > 0 {
		r.request = q.request(namespace, found, calls, now)
	}
	return r, nil
}

// answer starts the calls that got a reservation and reports to the others why they wait.
func (q *quotas) answer(r namespaceRound, answer ledger.QuotaAnswer, now time.Time) {
	for i, c := range r.claims {
		if answer.Granted[i] {
			q.grant(c, true)
			continue
		}
		if exceeded, ok := quota.Find(r.quotas, answer.Counts, r.request.Calls[i], now); ok {
			q.refuse(c, exceeded.Quota.Name, exceeded.Resets, agent.QuotaWait{Reason: QuotaExhausted, Message: exceeded.Message})
		}
	}
	q.used(r.request.Namespace)
}

// grant starts a call, unless it was cancelled meanwhile. In that case the end of the call releases the reservation.
func (q *quotas) grant(c *quotaClaim, reserved bool) {
	if q.engine.actors.isClosed() || !q.giveUp(c) { // a draining engine starts nothing new
		return
	}
	if reserved {
		q.mu.Lock()
		q.space(c.agent.Namespace).held[c.key] = true
		q.mu.Unlock()
	}
	c.granted()
}

// refuse reports to an agent why its call waits, once for each quota and period.
func (q *quotas) refuse(c *quotaClaim, name string, resets time.Time, wait agent.QuotaWait) {
	q.mu.Lock()
	known := c.quota == name && c.reason == wait.Reason && c.resets.Equal(resets) || !slices.Contains(q.claims, c)
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
		wait = min(wait, pollQuotas)
	}
	q.later(wait)
}

func (q *quotas) waitsForPrice() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.claims, func(c *quotaClaim) bool { return c.reason == PriceUnknown })
}

// waiting counts the waiting calls by the name of their quota.
func (q *quotas) waiting(namespace string) map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	counts := map[string]int{}
	for _, c := range q.claims {
		if c.agent.Namespace == namespace && c.quota != "" {
			counts[c.quota]++
		}
	}
	return counts
}

// waitingAnywhere counts the waiting calls of all namespaces.
func (q *quotas) waitingAnywhere() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := 0
	for _, c := range q.claims {
		if c.quota != "" {
			waiting++
		}
	}
	return waiting
}
