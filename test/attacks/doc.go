// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package attacks tries to get, from outside, what is not the attacker's: it runs all of Nestor as users do and plays a user of a
// namespace, a model, a tool server, a provider or a workspace that means harm.
//
//	go test ./test/attacks -run 'TestAttacks/SQLite/workspaces'
//
// Each attack says what it attempts and what stops it, and has a control: the same thing where it is allowed, or where its victim can be
// seen to fall. Without it, an attack that misses for some other reason would count as stopped. The threat model is in
// docs/concepts/security.md, which names every class of attacks.
package attacks
