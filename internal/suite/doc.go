// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package suite evaluates candidate revisions of roles by recorded runs.
//
//	AgentEvaluation ── Compile ─▶ Suite ─┐
//	                                     ├─ Check ─▶ Trial ─┐
//	events of a task ── Reader ──▶ Run ──┘                  ├─ Decide ─▶ Report
//	                                  thresholds, the other trials ─┘
//
// If a case has expectations that read the data of the judge, a run that passes Check becomes a Question, and CheckJudged gets the answer. The
// judge is an agent with an isolated role; what decides about a candidate is Decide.
//
// All of it is pure: the controller reads the tasks and the ledger, and writes the report.
package suite
