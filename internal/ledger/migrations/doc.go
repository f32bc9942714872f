// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package migrations holds the schema of the ledger as numbered SQL files, embedded, one folder a driver.
//
// A file is named NNNN_what.sql and is never edited once it has been released: a change of the schema is the next
// number, in both folders. Every statement ends with a semicolon at the end of a line.
package migrations
