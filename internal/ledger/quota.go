// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"time"
)

// Quotas counts what the model calls of namespaces use.
//
// A call that must fit a quota reserves what it may use at most before it is made. The reservation needs no call to end it: it counts until
// the call has its result, and from then on what the call really used counts. So a crash between the two neither loses nor doubles
// anything, and a call that is closed in any other way (cancelled, unknown) gives its reservation back.
//
// A call counts in the calendar hour in which it started. A call that waited for its reservation beyond the end of that hour starts
// with its reservation.
type Quotas interface {
	// Reserve answers one request for each namespace. It is atomic: two writers of one database cannot together reserve more than a limit
	// allows. The answers come in the order of the requests.
	Reserve(ctx context.Context, requests []QuotaRequest) ([]QuotaAnswer, error)
}

// QuotaRequest asks for reservations in one namespace; without calls it only counts.
type QuotaRequest struct {
	Namespace string
	// NamespaceUID is the UID of the namespace; what an earlier namespace of the name used does not count. Empty: it is not known.
	NamespaceUID string
	// At is the present time.
	At time.Time
	// Limits all hold.
	Limits []QuotaLimit
	// Calls are considered in order; one that does not fit is passed over.
	Calls []QuotaCall
	// Recount also adds the calls since the earliest limit that were made without a reservation.
	Recount bool
}

// QuotaLimit bounds what the calls of a namespace use since a time, which is the beginning of an hour.
type QuotaLimit struct {
	Since time.Time
	// Tokens and CostMicros are the most that may be used; 0 is no limit.
	Tokens, CostMicros int64
}

// QuotaCall is a model call whose intent is in the ledger, and what it may use at most.
type QuotaCall struct {
	Key                string
	Tokens, CostMicros int64
}

// QuotaAnswer says which calls have a reservation, and what counts against each limit with them.
type QuotaAnswer struct {
	Granted []bool
	Counts  []QuotaCount
}

// QuotaCount is what counts against a limit: what finished calls used, and what open calls have reserved.
type QuotaCount struct {
	Tokens, CostMicros                 int64
	ReservedTokens, ReservedCostMicros int64
}

// Fits says whether a call fits under the limit together with what counts already.
func (l QuotaLimit) Fits(count QuotaCount, call QuotaCall) bool {
	return (l.Tokens == 0 || count.Tokens+count.ReservedTokens+call.Tokens <= l.Tokens) &&
		(l.CostMicros == 0 || count.CostMicros+count.ReservedCostMicros+call.CostMicros <= l.CostMicros)
}
