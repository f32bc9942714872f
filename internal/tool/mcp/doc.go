// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package mcp makes the tools of MCP servers usable as Nestor tools, with the
// official Go SDK.
//
// A [Pool] keeps one [Session] for each pair of namespace and server, so that what
// a server remembers of one tenant never meets another. A session connects on its
// own, lists the server's tools, lists them again when the server says that they
// changed, and reconnects with growing pauses when the connection is lost:
//
//	Connecting ──> Connected ──> Reconnecting ──> Connected
//	     │                            │
//	     └──────> ConnectFailed <─────┘   (and again after a pause)
//
// [Session.Status] is a snapshot for the ToolServer's status; [Session.Tools] is the
// set of tools, named <server>__<tool>. The set outlives a lost connection: calls
// then fail with a reason, and what models are offered does not flicker.
//
// # Calls
//
// A call carries its idempotency key in _meta under [IdempotencyKeyMeta]. Ending
// its context sends notifications/cancelled. A call whose request demonstrably did
// not reach the server, or that the server refused, is repeated once on a fresh
// connection; so is a lost call of a tool that is read-only or idempotent. Any other
// lost call fails with [tool.ErrOutcomeUnknown].
//
// Over streamable HTTP, calls are made here, on the session that the SDK keeps:
// one POST for a call, on a connection that is used again, without goroutines
// that hand messages on. A stream for what the server says by itself is opened
// only if it says that its list of tools changes.
//
// # What a server may not do
//
// Headers from Secrets are read for each request, sent only to the origin of the
// configured URL, and removed from error texts. Redirects are not followed. Answers
// are bounded in size. A tool whose name or schema is unusable is left out and named
// in the status.
package mcp
