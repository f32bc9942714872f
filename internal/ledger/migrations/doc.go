// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package migrations contains the schema of the ledger as embedded, numbered SQL files, one folder per driver.
//
// A file is named NNNN_what.sql and must not be edited after its release: a change of the schema is the next number, in both
// folders. Every statement ends with a semicolon at the end of a line.
package migrations
