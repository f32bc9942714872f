// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package pgserver runs a real PostgreSQL server for tests from the installed programs, in its own directory, on loopback. The
// server ends with the process that started it, however that ends.
//
// Its fsync is off, except for measurements: it is about machines that lose power. What a server has acknowledged survives the kill
// of its processes without it, because a commit writes the log before it returns.
package pgserver
