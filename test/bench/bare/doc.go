// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package bare runs the engine on a ledger without Kubernetes: agents call an in-process model and tool, both of
// which answer at once. What remains is the work of the core, the engine, the model client and the ledger.
//
// The engine has the operator's settings, and a turn is the same as in the operator: the intent of the model call is
// durable, the model is called through the real client, its reply and the intent of the tool call are durable, the
// tool runs, and its result is durable together with the intent of the next model call.
package bare
