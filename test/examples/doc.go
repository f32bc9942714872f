// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package examples applies every folder of examples on a real API server, as their pages say, and plays it with the scripted model.
package examples
