// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/quota"
)

// quotaPollInterval is how often the ledger is read again while reservations of other processes block a call.
const quotaPollInterval = 10 * time.Second

// round holds the waiting calls of one namespace that are checked together.
type round struct {
	quotas  []quota.Quota
	calls   []*Call
	request ledger.QuotaRequest
}

// checkNamespaces checks the waiting calls of some namespaces with one ledger request.
func (q *Queue) checkNamespaces(namespaces []string) error {
	now := q.options.Now()
	var rounds []round
	var requests []ledger.QuotaRequest
	for _, namespace := range namespaces {
		r, err := q.collect(namespace, now)
		if err != nil {
			return err
		}
		if len(r.calls) > 0 {
			rounds, requests = append(rounds, r), append(requests, r.request)
		}
	}
	if len(rounds) == 0 {
		q.scheduleRound(now, false)
		return nil
	}
	answers, err := q.reserve(q.ctx, requests)
	if err != nil {
		return err
	}
	contended := false
	for i, r := range rounds {
		contended = contended || slices.ContainsFunc(answers[i].Counts, func(c ledger.QuotaCount) bool {
			return c.ReservedTokens+c.ReservedCostMicros > 0
		})
		q.applyAnswer(r, answers[i], now)
	}
	q.scheduleRound(now, contended)
	return nil
}

// collect collects the calls of a namespace that can be checked. Calls without a quota pass, and those with an
// unknown price keep waiting.
func (q *Queue) collect(namespace string, now time.Time) (round, error) {
	limits, err := q.limiting(namespace)
	if err != nil {
		return round{}, err
	}
	q.mu.Lock()
	var waiting []*Call
	for _, c := range q.waiting[atQuota] {
		if c.Agent.Namespace == namespace {
			waiting = append(waiting, c)
		}
	}
	if limits == nil { // calls that are made meanwhile are counted when there are quotas again
		delete(q.quotas.namespaces, namespace)
	}
	q.mu.Unlock()
	money, limitsCost := quota.NeedsPrice(limits)
	r := round{quotas: limits}
	var calls []ledger.QuotaCall
	for _, c := range waiting {
		if limits == nil {
			q.passQuota(c, false)
			continue
		}
		cost, currency := c.MaxCost()
		if limitsCost && currency == "" {
			message := quota.PriceUnknown(money, c.Agent.Model, c.Agent.Provider)
			q.delay(c, quotaDelay{reason: PriceUnknown, quota: money.Name}, message)
			continue
		}
		r.calls = append(r.calls, c)
		calls = append(calls, ledger.QuotaCall{Key: c.Key, Tokens: c.Reserve.Tokens, CostMicros: cost, Currency: currency})
	}
	if len(calls) > 0 {
		r.request = q.request(namespace, limits, calls, now)
	}
	return r, nil
}

// applyAnswer lets the calls pass that got a reservation and reports to the others why they wait.
func (q *Queue) applyAnswer(r round, answer ledger.QuotaAnswer, now time.Time) {
	for i, c := range r.calls {
		if answer.Granted[i] {
			q.passQuota(c, true)
			continue
		}
		if exceeded, ok := quota.LongestWait(r.quotas, answer.Counts, r.request.Calls[i], now); ok {
			by := quotaDelay{reason: QuotaExhausted, quota: exceeded.Quota.Name, resets: exceeded.Resets}
			if exceeded.OtherCurrency {
				by.reason = PriceUnknown
			}
			q.delay(c, by, exceeded.Message)
		}
	}
	q.notifyUsage(r.request.Namespace)
}

// passQuota lets a call pass, unless it was cancelled meanwhile. In that case the end of the call releases the
// reservation.
func (q *Queue) passQuota(c *Call, reserved bool) {
	q.mu.Lock()
	q.waiting[atQuota] = slices.DeleteFunc(q.waiting[atQuota], func(other *Call) bool { return other == c })
	if reserved && c.gate != left {
		q.quotas.namespace(c.Agent.Namespace).reserved[c.Key] = true
	}
	q.mu.Unlock()
	q.enterProvider(c)
}

// delay reports to a call why it waits, once for each quota and period.
func (q *Queue) delay(c *Call, by quotaDelay, message string) {
	q.mu.Lock()
	known := c.delay.reason == by.reason && c.delay.quota == by.quota && c.delay.resets.Equal(by.resets) || c.gate == left
	c.delay = by
	q.mu.Unlock()
	if !known {
		c.Waits(&agent.QuotaWait{Reason: by.reason, Message: message})
	}
}

// scheduleRound checks again at the next full hour, since every period ends with one. It checks sooner if calls in
// flight may release what is missing, because those of other processes send no notification, or if a price is
// missing.
func (q *Queue) scheduleRound(now time.Time, contended bool) {
	q.mu.Lock()
	unpriced := slices.ContainsFunc(q.waiting[atQuota], func(c *Call) bool { return c.delay.reason == PriceUnknown })
	q.mu.Unlock()
	wait := quota.Hour.End(now).Sub(now)
	if contended || unpriced {
		wait = min(wait, quotaPollInterval)
	}
	q.scheduleCheck(wait)
}
