// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package projection computes the statuses of objects from the state of an agent, bounded so that they never exceed the
// size limit of etcd. Its functions are pure. The ledger has the whole history; a status holds the newest parts of it,
// shortened to the limits of the API.
package projection
