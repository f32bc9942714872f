// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package intake is what the gateway sends to the operator, because it needs more than the token of a caller: webhooks, whose senders have no
// token of the cluster, the registrations for push notifications, whose secrets are sealed, and the logins of people at tool servers. [Client] is the gateway's side; package endpoint
// (internal/intake/endpoint) is the operator's.
package intake
