// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package sqlite stores a ledger in one SQLite file: the default, for one operator on one volume.
//
// The file is in WAL mode, so readers and the writer do not block each other, and every commit is synced to disk before Append
// returns. One connection writes and a few read. A second process may open the same file, for example during a failover: write
// transactions exclude each other, and the sequence numbers of each agent detect conflicts.
//
// The write connection is replaced after a file error, so that the operator recovers without a restart when a volume was full,
// read-only or missing.
package sqlite
