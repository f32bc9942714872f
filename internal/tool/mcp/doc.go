// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package mcp makes the tools of MCP servers available as Nestor tools, with the official Go SDK.
//
// A [Pool] has one [Session] for each pair of namespace and server, so that tenants never share server state. A
// session connects automatically, lists the server's tools, lists them again when the server reports a change, and
// reconnects with growing pauses when the connection is lost:
//
//	Connecting ──> Connected ──> Reconnecting ──> Connected
//	     │                            │
//	     └──────> ConnectFailed <─────┘   (and again after a pause)
//
// [Session.Status] is a snapshot for the ToolServer's status; [Session.Tools] is the set of tools, named
// <server>__<tool>. The set survives a lost connection: calls then fail with a reason, and the tools offered to
// models do not flicker.
//
// # Calls
//
// A call carries its idempotency key in _meta under [IdempotencyKeyMeta]. When its context ends,
// notifications/cancelled is sent. A call that did not reach the server, or that the server rejected, is repeated
// once on a new connection; so is a lost call of a tool that is read-only or idempotent. Any other lost call fails
// with [tool.ErrOutcomeUnknown].
//
// Over streamable HTTP, this package makes the calls itself, on the session that the SDK manages: one POST per call,
// on a reused connection, without extra goroutines. The SDK keeps the stream for the server's own messages open, on
// which servers of earlier revisions may request input.
//
// # Questions
//
// A server's request for input becomes a question to a person. If the server ends the call with its requests (revision
// 2026-07-28), the output has the question, and the next invocation continues the call with the answer. If it elicits
// during the call (earlier revisions), [tool.Invocation.Ask] gets the answer, and the call stays in flight. Sampling
// and roots are not offered.
//
// # Restrictions
//
// Access tokens are obtained with package oauth and shared by a server's sessions. A request that is answered with 401
// was not executed; it is sent once more with a new token. Headers from Secrets are read for each request, sent only to
// the origin of the configured URL, and removed from error texts. Redirects are not followed. The size of answers is
// bounded. A tool whose name or schema is unusable is left out and named in the status.
package mcp
