// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry exports traces and metrics of agents to OpenTelemetry, following the conventions for generative AI.
//
// A person's message is one trace. Its root is the turn that handles the message; below it are the model calls, tool
// calls, tasks, sub-agents of every depth and later turns that follow from it:
//
//	invoke_agent orchestrator
//	├─ chat gpt-5
//	├─ execute_tool delegate_to_agent
//	│  └─ invoke_agent researcher
//	│     ├─ chat gpt-5
//	│     ├─ await_approval write
//	│     └─ execute_tool write
//	└─ invoke_agent orchestrator
//	   └─ chat gpt-5
//
// Such work may take days, and the operator may be restarted in between, so no spans are kept open. A span is emitted
// when its end is in the ledger, with the times from the state. Trace and span ids are digests of recorded data
// (identity.go), so related spans need not exist yet and a restarted operator continues the same traces. Replayed
// events are not emitted again.
//
// The configuration is the environment variables of OpenTelemetry; without an endpoint there is no telemetry. Prompts,
// replies, arguments and results are only emitted if that is enabled (content.go).
package telemetry
