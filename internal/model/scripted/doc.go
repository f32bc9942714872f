// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package scripted is a language model that plays a script: a real HTTP server that speaks the chat completions API,
// streamed and not, with tool calls, usage, errors and latency. It drives the demo, the tests and the benchmark without
// a key, and without a mock anywhere.
//
// A [Script] is a YAML file with rules in order. The first rule that matches a request answers it:
//
//	rules:
//	- match: {role: orchestrator, lastMessage: How many files}
//	  reply:
//	    toolCalls:
//	    - name: delegate_to_agent
//	      arguments: {role: researcher, task: Count the files.}
//
// A rule sees one request, which in this API is a whole conversation: the role of the agent (from its system prompt),
// the newest message, the results of tools, the turn, the tools on offer. There is no memory beside the counts of
// rules with times, so thousands of agents can play the same script at once, and the same request gets the same answer
// with the same ids.
//
// The [Server] is strict unless told otherwise: what the real API refuses, it refuses with much the same words. It records what
// it was asked. Every script for the demo and the scenarios is embedded; see [Builtin]. The format is described in
// docs/reference/scripted-model.md.
package scripted
