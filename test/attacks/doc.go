// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package attacks tests the security of Nestor from outside. It runs the whole product as users do, with a hostile
// user, model, tool server, provider or workspace.
//
//	go test ./test/attacks -run 'TestAttacks/workspaces'
//
// Each attack describes what it attempts and what stops it, and has a control: the same action where it is allowed,
// or where its effect is visible. Without a control, an attack that fails for another reason would count as stopped.
// The threat model is in docs/concepts/security.md, which names every class of attacks.
package attacks
