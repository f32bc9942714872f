// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"time"

	"github.com/nestor-dev/nestor/internal/money"
)

// Quotas counts the usage of the model calls of namespaces.
//
// Before a call under a quota is made, it reserves the most that it may use. The reservation counts until the call has its
// result; from then on the real usage counts. No separate step settles it, so a crash neither loses nor repeats anything, and a
// call that ends in another way (cancelled, unknown) releases its reservation.
//
// A call counts in the calendar hour of its start. A call that waited for its reservation beyond the end of that hour starts when
// it gets the reservation.
type Quotas interface {
	// Reserve answers one request for each namespace, in the order of the requests. It is atomic: two writers of a database
	// cannot together reserve more than a limit allows.
	Reserve(ctx context.Context, requests []QuotaRequest) ([]QuotaAnswer, error)
}

// QuotaRequest requests reservations in one namespace; without calls it only counts.
type QuotaRequest struct {
	Namespace string
	// NamespaceUID is the UID of the namespace; usage of an earlier namespace with the same name does not count. Empty if
	// unknown.
	NamespaceUID string
	At           time.Time
	// Limits must all be respected.
	Limits []QuotaLimit
	// Calls are handled in order; one that does not fit is skipped.
	Calls []QuotaCall
	// Recount also adds calls without a reservation since the earliest limit.
	Recount bool
}

// QuotaLimit bounds the usage of the calls of a namespace since a time, which is a full hour.
type QuotaLimit struct {
	Since time.Time
	// Tokens and CostMicros are the limits; 0 means none.
	Tokens, CostMicros int64
}

// QuotaCall is a model call whose intent is recorded, and the most that it may use.
type QuotaCall struct {
	Key                string
	Tokens, CostMicros int64
	// Currency is that of CostMicros.
	Currency string
}

// QuotaAnswer reports which calls have a reservation, and the counts for each limit including them.
type QuotaAnswer struct {
	Granted []bool
	Counts  []QuotaCount
}

// QuotaCount is what counts against a limit: the usage of finished calls and the reservations of open ones.
type QuotaCount struct {
	Tokens, CostMicros                 int64
	ReservedTokens, ReservedCostMicros int64
	// Currency is that of the costs, or money.Several.
	Currency string
}

// Plus adds two counts.
func (c QuotaCount) Plus(d QuotaCount) QuotaCount {
	return QuotaCount{
		Tokens: c.Tokens + d.Tokens, ReservedTokens: c.ReservedTokens + d.ReservedTokens,
		CostMicros: c.CostMicros + d.CostMicros, ReservedCostMicros: c.ReservedCostMicros + d.ReservedCostMicros,
		Currency: money.Join(c.CostMicros+c.ReservedCostMicros, c.Currency, d.CostMicros+d.ReservedCostMicros, d.Currency),
	}
}

// PlusReserved adds the reservation of a call.
func (c QuotaCount) PlusReserved(call QuotaCall) QuotaCount {
	return c.Plus(QuotaCount{ReservedTokens: call.Tokens, ReservedCostMicros: call.CostMicros, Currency: call.Currency})
}

// Fits reports whether a limit allows a call. A limit of money holds in one currency: that of the first call that counts.
func (l QuotaLimit) Fits(count QuotaCount, call QuotaCall) bool {
	total := count.PlusReserved(call)
	return (l.Tokens == 0 || total.Tokens+total.ReservedTokens <= l.Tokens) &&
		(l.CostMicros == 0 || total.CostMicros+total.ReservedCostMicros <= l.CostMicros && total.Currency != money.Several)
}
