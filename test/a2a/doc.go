// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package a2a tests the A2A door of the gateway on a real API server, with clients that are not of this project.
package a2a
