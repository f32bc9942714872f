// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package flows runs every flow of Nestor's source documents with the real operator: on a real API server with the real
// garbage collector, the scripted model and a real MCP server, once with each ledger.
//
// The agents of a spec follow testdata/puppets.yaml or a built-in script; puppets follow plain instructions, so that
// a spec can be read without its script. After each spec a linter checks every remaining object.
package flows
