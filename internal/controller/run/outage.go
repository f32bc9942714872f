// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"time"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/projection"
)

// ledgerTimeout is how long a reconcile waits for the ledger.
const ledgerTimeout = 10 * time.Second

// Outage returns the ledger outage that blocks an object, and false for every other error. The message is the same for every attempt, so
// that an outage costs an object one write; the operator's log has the cause.
func (r *Runner) Outage(err error) (outage projection.Outage, ok bool) {
	var failure *ledger.Error
	if !errors.As(err, &failure) {
		return projection.Outage{}, false
	}
	if failure.Reason == ledger.ReasonQuota {
		return projection.Outage{Reason: v1alpha1.ReasonLedgerQuota,
			Message: fmt.Sprintf("The namespace has filled its share of the ledger: %s. Nothing is lost.", failure.Reason.Advice())}, true
	}
	return projection.Outage{Reason: string(failure.Reason), Message: fmt.Sprintf("The ledger %s fails: %s. Nothing is lost.", r.LedgerName, failure.Reason.Advice())}, true
}
