// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package admission decides when a model call may start.
//
// A [Queue] holds the calls of a process that wait. A call passes four gates in order, because each one holds what
// the ones before it have given:
//
//	Submit ─▶ budgets of the tree ─▶ space in the ledger ─▶ quotas of the namespace ─▶ provider ─▶ Started
//
// At every moment a call is at one gate or has left the queue, for one of three reasons: it may start (Call.Started),
// it may not (Call.Refused), or it was cancelled (Call.Cancel). A call that is refused or cancelled leaves nothing
// behind, whatever it had reserved. A waiting call has no goroutine.
//
// A call that has started holds two things until it has ended: its place at the provider until
// [schedule.Grant].Release, and its reservation in the budgets until [Budgets].Set counts its usage instead, in one
// step, so that it is never counted twice or not at all. The ledger replaces its quota reservation by its usage in
// the same way, with the row of its result.
//
// # Order
//
// Calls that wait for a budget, for space or for a quota are checked in order of arrival, and one that does not fit
// lets others pass. Package schedule orders the calls that wait for a provider.
package admission
