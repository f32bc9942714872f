// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package builtin provides the built-in tools: calculator, think, current_time, web_search and read_result. All of
// them are read-only, so they run without approval.
//
// The tools are created once and serve all agents; the namespace and agent come with each call. Their dependencies (a
// clock, the key of the search service, the ledger's outputs) are small interfaces in [Options].
package builtin
