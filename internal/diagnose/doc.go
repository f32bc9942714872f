// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package diagnose checks the prerequisites of a chat, from the connection to the model, and gives advice for each
// failure. `kubectl nestor doctor` makes all checks; `nestor-operator check` makes those of an installation.
//
// Checks only read. The optional probe makes the operator run one harmless tool as a task, and deletes the task.
package diagnose
