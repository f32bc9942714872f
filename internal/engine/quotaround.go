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

// namespaceRound is the claims of one namespace that are judged together.
type namespaceRound struct {
	quotas  []quota.Quota
	claims  []*quotaClaim
	request ledger.QuotaRequest
}

// round judges the claims of some namespaces with one question to the ledger.
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

// gather finds the claims of a namespace that can be judged. Those that no quota holds any more are granted, and those whose price is
// unknown wait for it.
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

// answer lets the calls go on that have a reservation, and tells the others why they wait.
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

// grant lets a call go on, unless it was given up meanwhile. The reservation of one that was is given back with the call's own end.
func (q *quotas) grant(c *quotaClaim, reserved bool) {
	if q.engine.isClosed() || !q.giveUp(c) { // an engine that drains begins nothing new
		return
	}
	if reserved {
		q.mu.Lock()
		q.space(c.agent.Namespace).held[c.key] = true
		q.mu.Unlock()
	}
	c.granted()
}

// refuse tells an agent why its call waits, once for each quota and period.
func (q *quotas) refuse(c *quotaClaim, name string, resets time.Time, wait agent.QuotaWait) {
	q.mu.Lock()
	known := c.quota == name && c.reason == wait.Reason && c.resets.Equal(resets) || !slices.Contains(q.claims, c)
	c.quota, c.reason, c.resets = name, wait.Reason, resets
	q.mu.Unlock()
	if !known {
		c.waits(wait)
	}
}

// schedule looks again when the next hour begins, since every period ends with one. It looks sooner if calls under way may give back what
// is missing, since those of another engine are not heard of, or if a price is missing.
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

// waiting counts the calls that wait, by the name of the quota that they wait for.
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

// waitingAnywhere counts the calls that wait for a quota in all namespaces.
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
