// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// LeaseName is the name of the heartbeat in the operator's namespace.
const LeaseName = "nestor-heartbeat"

// The annotations of the heartbeat. Those about a failure are absent while the ledger answers.
const (
	// AnnotationLedger is the reason why the ledger fails, and AnnotationLedgerAdvice what to do about it.
	AnnotationLedger       = "nestor.dev/ledger"
	AnnotationLedgerAdvice = "nestor.dev/ledger-advice"
	// AnnotationReplicas has the state of the replicas in the ledger: an Installation as JSON.
	AnnotationReplicas = "nestor.dev/replicas"
)

// Period is the time between two renewals, and Patience how long a heartbeat may stay unchanged.
const (
	Period   = 2 * time.Second
	Patience = 6 * time.Second
)

// clockTolerance is how far the clocks of machines may differ.
const clockTolerance = time.Minute

// Observer decides whether the heartbeat continues by the changes that it receives: the clock of the operator's
// machine may differ from this one's. The zero value is ready to use.
type Observer struct {
	mu      sync.Mutex
	version string
	changed time.Time
}

// Observe returns for how long the heartbeat has not changed. Before an observer has read a change, a heartbeat that
// looks old counts as new, unless it is older than clocks differ.
func (o *Observer) Observe(lease *coordinationv1.Lease, now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := o.version == ""
	if version := string(lease.UID) + lease.ResourceVersion; version != o.version {
		o.version, o.changed = version, now
	}
	if renewed := lease.Spec.RenewTime; first && renewed != nil && now.Sub(renewed.Time) > clockTolerance {
		o.changed = renewed.Time
	}
	return now.Sub(o.changed)
}
