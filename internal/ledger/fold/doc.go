// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package fold stores texts once. The events of an agent contain all texts of its conversation; requests, replies, outputs and
// snapshots repeat them. In a folded document, such strings are replaced by references into the agent's events. Unfolding
// restores the same bytes.
package fold
