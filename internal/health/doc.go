// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package health reports within seconds what keeps agents from working: an operator that does not run, a ledger that
// does not answer, a provider that is down or limits calls, a quota that is used up, a tool server that is not ready.
//
// The operator's replicas renew one Lease, the heartbeat. It reports whether they run and whether the ledger answers.
// All authenticated users may read it. Everything else is in the conditions of a namespace's objects, which Problems
// reads with the permissions of the person.
package health
