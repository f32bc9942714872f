// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package builtin holds the tools that every Nestor has: calculator, think,
// current_time, web_search and read_result. All of them are read-only, so they
// run without approval.
//
// The tools are made once and serve all agents; what differs between agents comes
// with each call (its namespace and agent). What they need from outside (a clock,
// the key of the search service, the ledger's outputs) comes through small
// interfaces in [Options].
package builtin
