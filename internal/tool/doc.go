// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package tool defines tools, the sets of tools that agents may use, and how a call is checked and run.
//
// A [Tool] is created once with [New], which compiles its JSON schema; it is immutable and shared by all agents. A
// [Set] is the registry of one agent: the union of the built-in tools, a workspace and MCP servers. An [Executor]
// runs calls on a set:
//
//	set, err := builtins.Union(github, workspace)
//	result := tool.Executor{}.Execute(ctx, set, call)
//
// Execute never returns an error. An unknown tool, invalid arguments, a timeout, a panic and a failure of the tool all
// become a [Result]: its Text describes the failure and suggests what to do, and its Failure is the machine-readable
// reason. Arguments are checked before anything runs: a tool never receives a value that its
// schema forbids.
//
// Text that is too long for the model is truncated in the middle, with a marker that names the tool read_result.
// Result.Output has the complete text for the ledger.
//
// # After a crash
//
// A tool that is neither ReadOnly nor Idempotent must not run twice. Each [Invocation] has an idempotency key, which is
// passed to tools that accept one. A Result with OutcomeUnknown means that the call may have taken effect although no
// answer arrived.
//
// The package does not depend on agents, models, the ledger or Kubernetes; the engine connects them.
package tool
