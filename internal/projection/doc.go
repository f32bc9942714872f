// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package projection turns the state of an agent into the status of its objects: what kubectl shows, bounded so that it can
// never outgrow etcd. Its functions are pure. The whole history is in the ledger; status holds the newest parts of it,
// shortened to what the API allows.
package projection
