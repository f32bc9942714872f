// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package public assembles what people and other programs connect to: the doors of the gateway, the receiver of webhooks, and the web page. The
// program nestor-gateway runs all of it; local mode runs the doors beside the operator.
//
// Everything is done with the token of the caller. The process's own credentials are used for two purposes: it asks the API server whether a
// reader of the metrics may read them, and it proves to the operator that a webhook or a registration came through the gateway.
package public
