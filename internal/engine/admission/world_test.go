// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/quota"
)

// world is a queue with a provider without limits, and the ledger and quotas that it reads.
type world struct {
	queue     *Queue
	scheduler *schedule.Scheduler

	mu     sync.Mutex
	quotas map[string][]quota.Quota
	bytes  map[string]int64
	// reserved and used are the tokens of open and of ended calls; used is by the start of the hour.
	reserved map[string]map[string]int64
	used     map[string]map[time.Time]int64
}

// worldQuota is the ledger quota of a namespace in bytes.
const worldQuota = 1000

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{scheduler: schedule.New(schedule.Options{}), quotas: map[string][]quota.Quota{}, bytes: map[string]int64{},
		reserved: map[string]map[string]int64{}, used: map[string]map[time.Time]int64{}}
	w.scheduler.SetProvider(schedule.Provider{Name: "p"})
	ctx, cancel := context.WithCancel(context.Background())
	w.queue = New(ctx, Options{Ledger: w, Scheduler: w.scheduler, Quotas: w, NamespaceUID: func(string) string { return "" },
		ReportError: func(err error) { t.Error(err) }, Now: time.Now, RetryDelay: time.Second})
	t.Cleanup(func() {
		cancel()
		w.queue.Wait()
		w.scheduler.Close()
	})
	return w
}

// Quotas implements Quotas.
func (w *world) Quotas(_ context.Context, namespace string) ([]quota.Quota, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.quotas[namespace], nil
}

// Bytes implements ledger.Sizes.
func (w *world) Bytes(context.Context) ([]ledger.NamespaceBytes, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var sums []ledger.NamespaceBytes
	for namespace, bytes := range w.bytes {
		sums = append(sums, ledger.NamespaceBytes{Namespace: namespace, Bytes: bytes})
	}
	return sums, nil
}

// Reserve implements ledger.Quotas.
func (w *world) Reserve(_ context.Context, requests []ledger.QuotaRequest) ([]ledger.QuotaAnswer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	answers := make([]ledger.QuotaAnswer, len(requests))
	for i, r := range requests {
		open := w.reserved[r.Namespace]
		if open == nil {
			open = map[string]int64{}
			w.reserved[r.Namespace] = open
		}
		for _, call := range r.Calls {
			_, granted := open[call.Key]
			if !granted && w.fits(r.Namespace, r.Limits, call) {
				open[call.Key], granted = call.Tokens, true
			}
			answers[i].Granted = append(answers[i].Granted, granted)
		}
		for _, limit := range r.Limits {
			answers[i].Counts = append(answers[i].Counts, w.count(r.Namespace, limit))
		}
	}
	return answers, nil
}

func (w *world) fits(namespace string, limits []ledger.QuotaLimit, call ledger.QuotaCall) bool {
	for _, limit := range limits {
		if !limit.Fits(w.count(namespace, limit), call) {
			return false
		}
	}
	return true
}

func (w *world) count(namespace string, limit ledger.QuotaLimit) (count ledger.QuotaCount) {
	count.Tokens = w.used[namespace][limit.Since]
	for _, tokens := range w.reserved[namespace] {
		count.ReservedTokens += tokens
	}
	return count
}

// end replaces the reservation of a call by its usage.
func (w *world) end(namespace, key string, used int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.reserved[namespace][key]; !ok {
		return
	}
	delete(w.reserved[namespace], key)
	if w.used[namespace] == nil {
		w.used[namespace] = map[time.Time]int64{}
	}
	w.used[namespace][quota.Hour.Start(time.Now())] += used
}
