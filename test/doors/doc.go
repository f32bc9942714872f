// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package doors runs clients of other projects against the gateway of an operator on a real API server.
package doors
