// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package sqlite keeps a ledger in one SQLite file: the default, for one operator on one volume.
//
// The file is in WAL mode, so readers and the writer do not wait for each other, and every commit is synced to the
// disk before Append returns. One connection writes and a few read. A second process may open the same file, as two
// operators do for a moment during a failover; their transactions exclude each other and the sequence of each agent
// decides who may go on.
//
// The writing connection is thrown away after a failure of the file, so that a volume that is full, read-only or
// gone needs no restart once it is well again.
package sqlite
