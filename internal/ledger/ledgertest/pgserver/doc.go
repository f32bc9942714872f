// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package pgserver runs a real PostgreSQL server for tests from the installed programs, in its own directory, on loopback, with
// fsync on. The server ends with the process that started it, however that ends.
package pgserver
