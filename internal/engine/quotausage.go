// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/quota"
)

// QuotaUsage is what counts against a quota of a namespace.
type QuotaUsage struct {
	Quota quota.Quota
	Count ledger.QuotaCount
	// Active are the sub-agents of the namespace that are at work.
	Active int
	// Waiting are the runs that wait for this quota.
	Waiting int
}

// QuotaUsage counts what the model calls of a namespace use, for each of its quotas.
func (e *Engine) QuotaUsage(ctx context.Context, namespace string) ([]QuotaUsage, error) {
	if e.options.Quotas == nil {
		return nil, nil
	}
	found, err := e.options.Quotas.Quotas(ctx, namespace)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	usage := make([]QuotaUsage, len(found))
	waiting := e.quotas.waiting(namespace)
	active, parked := e.slots.count(NamespaceCrew(namespace))
	if least, ok := quota.ActiveLimit(found); ok {
		waiting[least.Name] += parked
	}
	for i, q := range found {
		usage[i] = QuotaUsage{Quota: q, Active: active, Waiting: waiting[q.Name]}
	}
	if !quota.CountsCalls(found) {
		return usage, nil
	}
	request := e.quotas.request(namespace, found, nil, e.options.Now())
	answers, err := e.options.Ledger.Reserve(ctx, []ledger.QuotaRequest{request})
	e.quotas.counted(request, err != nil)
	if err != nil {
		return nil, fmt.Errorf("count what namespace %s uses: %w", namespace, err)
	}
	for i := range usage {
		usage[i].Count = answers[0].Counts[i]
	}
	return usage, nil
}

// QuotasChanged lets what waits in a namespace be judged again: its quotas may be others than before. If the namespace is empty, the prices
// of models may be, and all model calls that wait are judged.
func (e *Engine) QuotasChanged(namespace string) {
	e.quotas.changed(namespace)
	if namespace == "" || e.options.Quotas == nil {
		return
	}
	found, err := e.options.Quotas.Quotas(e.ctx, namespace)
	if err != nil {
		e.options.Trouble(fmt.Errorf("limit the active agents of namespace %s: %w", namespace, err))
		return
	}
	least, _ := quota.ActiveLimit(found)
	e.slots.setLimit(NamespaceCrew(namespace), least.MaxActiveAgents)
}

// NamespaceCrew is the key of the crew of all sub-agents of a namespace.
func NamespaceCrew(namespace string) string { return "namespace/" + namespace }

// WaitsForActiveQuota returns the quota whose maxActiveAgents keeps a sub-agent of a namespace from work, if one does.
func (e *Engine) WaitsForActiveQuota(ctx context.Context, namespace, uid string) (quota.Quota, bool) {
	if e.options.Quotas == nil || !e.slots.waitsFor(uid, NamespaceCrew(namespace)) {
		return quota.Quota{}, false
	}
	found, err := e.options.Quotas.Quotas(ctx, namespace)
	if err != nil {
		return quota.Quota{}, false
	}
	return quota.ActiveLimit(found)
}
