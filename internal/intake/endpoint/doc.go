// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package endpoint is the operator's internal endpoint, to which the gateway sends webhooks and registrations for push notifications.
//
// Only the gateway's service account is admitted, with a token for the audience of the operator: a token for the API server, such as one that a
// caller has sent to the gateway, is refused. What the gateway sends is not trusted any further than that: webhooks are authenticated here.
package endpoint
