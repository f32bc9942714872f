// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package suite judges candidate revisions of roles by recorded runs.
//
//	AgentEvaluation ── Compile ─▶ Suite ─┐
//	                                     ├─ Check ─▶ Trial ─┐
//	events of a task ── Reader ──▶ Run ──┘                  ├─ Decide ─▶ Report
//	                                  thresholds, the other trials ─┘
//
// All of it is pure: the controller reads the tasks and the ledger, and writes the report.
package suite
