// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry tells OpenTelemetry what agents do: traces and metrics in the words of the conventions for generative AI.
//
// A person's message is one trace. The turn that takes the message is its root; the model calls, tool calls, tasks, sub-agents of
// every depth and later turns that come of it are below:
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
// Such work may take days, and the operator may be another process at its end than at its beginning. So nothing is kept open:
// a span is made when the ledger has taken its end, with the times that the state remembers, and the ids of traces and spans
// are digests of what the ledger knows (identity.go). Whoever ends something knows the ids of everything around it, a restarted
// operator goes on with the same traces, and what is replayed is not told again.
//
// Everything is set by the environment variables of OpenTelemetry; without an endpoint there is no telemetry at all. Prompts,
// replies, arguments and results are told only where that was asked for (content.go).
package telemetry
