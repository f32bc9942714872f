// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package fold keeps a text once. What an agent hears and says is in its events; requests, replies, outputs and snapshots repeat it. A
// folded document has references to strings in the agent's events in place of those strings, and unfolds to the same bytes.
package fold
