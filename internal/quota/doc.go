// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package quota implements the rules of AgentQuotas: in which calendar periods they count, whether a model call fits, and the
// messages for people. Its functions are pure; the ledger counts, and the engine delays calls.
package quota
