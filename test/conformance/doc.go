// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance runs the conformance suite of the Model Context Protocol, @modelcontextprotocol/conformance from npm, against Nestor's
// client, and against its two servers: nestor-workspace here, and the gateway's /mcp in test/doors.
//
// A table for each of the three lists every scenario of the suite: it passes, or passes but for some checks, or does not apply, with a reason.
// A test fails if the suite gets or loses a scenario, if a scenario that should pass fails, and if one that does not apply passes.
package conformance
