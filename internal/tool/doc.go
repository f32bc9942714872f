// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package tool is everything between "the model asked for a tool" and "the model
// has an answer": what a tool is, which tools an agent may use, whether a call's
// arguments fit, and what running it came to.
//
// A [Tool] is made once, with [New], which compiles its JSON schema; it is
// immutable and shared by all agents. A [Set] is the registry that one agent
// works with: the union of the built-in tools, a workspace and MCP servers.
// An [Executor] runs calls on a set:
//
//	set, err := builtins.Union(github, workspace)
//	result := tool.Executor{}.Execute(ctx, set, call)
//
// Execute never returns an error. A tool that is unknown, arguments
// that do not parse or do not fit, a timeout, a panic and a tool's own failure
// all become a [Result] whose Text tells the model what went wrong and what to do
// next, and whose Failure tells programs which of these it was. Arguments are
// checked before anything runs: a tool never sees a value its schema forbids.
//
// Text that is too long for the model is cut in the middle, with a marker that
// names the tool read_result. Result.Output keeps the whole, for the ledger.
//
// # After a crash
//
// A tool that is neither ReadOnly nor Idempotent must not be run twice. Each
// [Call] has an idempotency key, which is handed on to tools that take one, and a
// Result whose OutcomeUnknown is set says that the call may have taken effect
// although no answer came back.
//
// The package knows nothing of agents, models, the ledger or Kubernetes; the
// engine brings them together.
package tool
