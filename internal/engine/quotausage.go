// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"github.com/nestor-dev/nestor/internal/engine/slots"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/quota"
)

// QuotaUsage is the usage that counts against a quota of a namespace.
type QuotaUsage struct {
	Quota quota.Quota
	Count ledger.QuotaCount
	// Active counts the active sub-agents of the namespace.
	Active int
	// Waiting counts the runs that wait for this quota.
	Waiting int
}

// QuotaUsage returns the usage of a namespace for each of its quotas.
func (s *shared) QuotaUsage(ctx context.Context, namespace string) ([]QuotaUsage, error) {
	if s.options.Quotas == nil {
		return nil, nil
	}
	quotas, err := s.options.Quotas.Quotas(ctx, namespace)
	if err != nil || len(quotas) == 0 {
		return nil, err
	}
	var counts []ledger.QuotaCount
	if quota.CountsCalls(quotas) {
		if counts, err = s.admission.QuotaCounts(ctx, namespace, quotas); err != nil {
			return nil, err
		}
	}
	waiting := s.admission.WaitingForQuota(namespace)
	active, parked := s.slots.Count(slots.OfNamespace(namespace))
	if least, ok := quota.ActiveLimit(quotas); ok {
		waiting[least.Name] += parked
	}
	usage := make([]QuotaUsage, len(quotas))
	for i, q := range quotas {
		usage[i] = QuotaUsage{Quota: q, Active: active, Waiting: waiting[q.Name]}
		if counts != nil {
			usage[i].Count = counts[i]
		}
	}
	return usage, nil
}

// QuotasChanged checks the waiting calls of a namespace again after its quotas have changed. With an empty namespace it checks
// all waiting calls, for example after a change of prices.
func (s *shared) QuotasChanged(namespace string) {
	s.admission.QuotasChanged(namespace)
	if namespace == "" || s.options.Quotas == nil {
		return
	}
	quotas, err := s.options.Quotas.Quotas(s.ctx, namespace)
	if err != nil {
		s.options.ReportError(fmt.Errorf("set the active agents limit of namespace %s: %w", namespace, err))
		return
	}
	least, _ := quota.ActiveLimit(quotas)
	s.slots.SetLimit(slots.OfNamespace(namespace), least.MaxActiveAgents)
}

// WaitsForActiveQuota returns the quota whose maxActiveAgents makes a sub-agent wait, if there is one.
func (s *shared) WaitsForActiveQuota(ctx context.Context, namespace, uid string) (quota.Quota, bool) {
	if s.options.Quotas == nil || !s.slots.WaitsFor(uid, slots.OfNamespace(namespace)) {
		return quota.Quota{}, false
	}
	quotas, err := s.options.Quotas.Quotas(ctx, namespace)
	if err != nil {
		return quota.Quota{}, false
	}
	return quota.ActiveLimit(quotas)
}

// LedgerFull returns why nothing new may start in a namespace, or nil. It answers from memory.
func (s *shared) LedgerFull(namespace, uid string) error {
	return s.admission.LedgerFull(namespace, uid)
}

func (s *shared) waitingForQuota() (calls int) {
	for _, waiting := range s.admission.WaitingForQuota("") {
		calls += waiting
	}
	return calls
}
