// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package flows tells every flow of Nestor's source documents to the real operator: on a real API server with the real
// garbage collector, the scripted model and a real MCP server, once with each ledger.
//
// The agents of a spec play what testdata/puppets.yaml or a built-in script says; puppets do what they are told in plain words,
// so that a spec can be read without its script. After each spec a linter looks at every object that it left.
package flows
