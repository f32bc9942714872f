// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package bare runs the engine on a ledger without Kubernetes: agents that call a model and a tool in this process, both of which answer
// at once. What is left is the work of the core, the engine, the model client and the ledger.
//
// The engine has the operator's settings. A turn is what it is in the operator: the intent of the model call is durable, the model is
// called through the real client, its answer and the intent of the tool call are durable, the tool runs, and its result is durable
// together with the intent of the next model call.
package bare
