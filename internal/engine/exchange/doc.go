// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package exchange converts between the core and models: a prompt becomes a request, and a reply becomes a fact with
// its usage. It also has the form in which the ledger stores requests. It is pure: it neither calls a model nor reads
// the ledger.
package exchange
