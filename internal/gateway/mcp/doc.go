// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package mcp serves runs over the Model Context Protocol: revision 2026-07-28, which has no sessions, and the
// earlier ones.
//
// The tools depend on the caller: the roles of a namespace that are offered as tools, and tools that start, read,
// answer and cancel runs. No tool decides about a tool call, because models call tools: a person decides in a form. A
// run is a standalone AgentTask; this package stores nothing about it.
//
// A run that waits for a person ends the call with the question or approval, as a request for input (2026-07-28). The
// client repeats the call with the answer and the state from the request, which names the task. Earlier clients that
// declare elicitation receive the form while their call is open. All others receive a result with instructions how to
// answer and where a person decides.
//
// If a client cancels its request or loses its connection, the run continues. Only the tool cancel cancels a run.
package mcp
