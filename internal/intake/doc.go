// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package intake is what the gateway hands to the operator, because it needs more than the token of a caller: webhooks, whose senders have no
// token of the cluster.
package intake
