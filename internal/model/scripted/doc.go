// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package scripted is a language model that plays a script: a real HTTP server for the chat completions and Responses
// APIs of OpenAI, Anthropic's Messages API and the Gemini API, streamed and not, with tool calls, reasoning, usage,
// errors and latency. The demo, the tests and the benchmarks use it instead of a provider, without a key or mocks.
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
// A rule matches one request, which in these APIs is a whole conversation: the role of the agent (from its system
// prompt), the newest message, the results of tools, the turn, the offered tools. The only state are the counts of
// rules with times, so thousands of agents can use the same script at once, and the same request gets the same reply
// with the same IDs.
//
// The [Server] is strict by default: it rejects what the real API rejects, with similar messages. It records
// requests. For each API there are files that decode its requests, reject them, and encode replies; the rest does not
// depend on the API. All scripts for the demo and the scenarios are embedded; see [Builtin]. The format is described in
// docs/reference/scripted-model.md.
package scripted
