// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package suite evaluates candidate revisions of roles from recorded runs.
//
//	AgentEvaluation ── Compile ─▶ Suite ─┐
//	                                     ├─ Check ─▶ Trial ─┐
//	events of a task ── Reader ──▶ Run ──┘                  ├─ Decide ─▶ Report
//	                                  thresholds, the other trials ─┘
//
// If the expectations of a case read the judge's data, a run that passes Check becomes a Question, and CheckJudged
// receives the answer. The judge is an agent with an isolated role. Only Decide decides about a candidate.
//
// All of it is pure: the controller reads the tasks and the ledger, and writes the report.
package suite
