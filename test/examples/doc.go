// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package examples applies every folder of examples on a real API server, as described on their pages, and runs it
// with the scripted model.
package examples
