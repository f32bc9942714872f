// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package quota says what the AgentQuotas of a namespace mean: in which calendar periods they count, whether a model call fits, and what
// to tell people about one that does not. Its functions are pure; the ledger counts, and the engine lets calls wait.
package quota
