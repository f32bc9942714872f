// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Store implements ledger.Ledger on a SQL database.
type Store struct {
	driver  Driver
	queue   *queue
	timeout time.Duration

	batches      atomic.Int64
	transactions atomic.Int64

	// shardCount is the number of shards that this process has set; 0 before.
	shardCount atomic.Int64

	texts  textCache
	pruned pruneProgress

	// textOf is nil if search is off.
	textOf   ledger.TextOf
	indexing indexProgress
}

var _ ledger.Ledger = (*Store)(nil)

// How many batches share a transaction, and how long it may take. The timeout is far above what a healthy database
// needs for a group.
const (
	defaultGroupLimit = 512
	commitTimeout     = 30 * time.Second
	// groupBytes bounds the size of a group, so that transactions stay short with large batches.
	groupBytes = 8 << 20
)

type Option func(*options)

type options struct {
	groupLimit int
	textOf     ledger.TextOf
}

// GroupLimit sets how many batches may share a transaction; 1 turns the group commit off.
func GroupLimit(batches int) Option {
	return func(o *options) { o.groupLimit = max(1, batches) }
}

// New returns a Store on a database whose schema is current; see Migrate. It owns the driver.
func New(driver Driver, opts ...Option) *Store {
	o := options{groupLimit: defaultGroupLimit}
	for _, opt := range opts {
		opt(&o)
	}
	s := &Store{driver: driver, timeout: commitTimeout, textOf: o.textOf}
	s.queue = newQueue(o.groupLimit, groupBytes, s.commit)
	return s
}

// transact runs fn in a write transaction with a time limit.
func (s *Store) transact(ctx context.Context, op string, fn func(context.Context, Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.fail(op, s.driver.Write(ctx, func(tx Tx) error { return fn(ctx, tx) }))
}

// Driver returns the driver, for package transfer.
func (s *Store) Driver() Driver { return s.driver }

func (s *Store) Name() string { return s.driver.Name() }

func (s *Store) Stats() ledger.Stats {
	return ledger.Stats{Batches: s.batches.Load(), Transactions: s.transactions.Load(), Waiting: s.queue.length()}
}

func (s *Store) Close() error {
	if !s.queue.close() {
		return nil
	}
	return s.fail("close", s.driver.Close())
}
