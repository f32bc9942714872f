// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// The statements with %[1]s need the clock of the database.
const (
	selectShards = `SELECT s.shard, s.epoch, s.holder, s.released, NOT s.released AND r.id IS NOT NULL
	FROM shards s LEFT JOIN replicas r ON r.id = s.holder AND r.expires_at > %[1]s`
	insertShard = `INSERT INTO shards (shard, epoch, holder, taken_at) VALUES ($1, 1, $2, $3) ON CONFLICT (shard) DO NOTHING`
	takeShard   = `UPDATE shards SET epoch = epoch + 1, holder = $1, taken_at = $2, released = FALSE
	WHERE shard = $3 AND epoch = $4 AND (released OR holder = $1
		OR NOT EXISTS (SELECT 1 FROM replicas WHERE id = shards.holder AND expires_at > %[1]s))`
	releaseShard = `UPDATE shards SET released = TRUE WHERE shard = $1 AND epoch = $2`
)

// readTimeout bounds reads with which an engine must detect in time that it was superseded.
const readTimeout = 5 * time.Second

func (s *Store) ReadOwner(ctx context.Context, shard int) (ledger.ShardOwner, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	row, err := scanShard(s.driver.Reader().QueryRowContext(ctx, s.clocked(selectShards)+` WHERE s.shard = $1`, shard))
	if errors.Is(err, sql.ErrNoRows) {
		return ledger.ShardOwner{}, nil
	}
	return row.owner, s.fail("read the shard owner", err)
}

func (s *Store) Owners(ctx context.Context) (map[int]ledger.ShardOwner, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	rows, err := list(ctx, s.driver.Reader(), scanShard, s.clocked(selectShards))
	if err != nil {
		return nil, s.fail("read the shard owners", err)
	}
	owners := make(map[int]ledger.ShardOwner, len(rows))
	for _, r := range rows {
		owners[r.shard] = r.owner
	}
	return owners, nil
}

type shardRow struct {
	shard int
	owner ledger.ShardOwner
}

var scanShard = into(func(s *shardRow) []any {
	return []any{&s.shard, &s.owner.Epoch, &s.owner.Name, &s.owner.Released, &s.owner.Live}
})

func (s *Store) TakeOver(ctx context.Context, shard int, seen int64, owner string, at time.Time) (ledger.Fence, error) {
	take := statement(s.clocked(takeShard), text(owner), micros(at), shard, seen)
	if seen == 0 {
		take = statement(insertShard, shard, text(owner), micros(at))
	}
	err := s.changeShard(ctx, fmt.Sprintf("take shard %d", shard), ledger.Fence{Shard: shard, Epoch: seen}, func(ctx context.Context, tx Tx) (int64, error) {
		if err := s.checkShardCount(ctx, tx); err != nil {
			return 0, err
		}
		return execOne(ctx, tx, take)
	})
	return ledger.Fence{Shard: shard, Epoch: seen + 1}, err
}

func (s *Store) Release(ctx context.Context, own ledger.Fence) error {
	return s.changeShard(ctx, fmt.Sprintf("release shard %d", own.Shard), own, func(ctx context.Context, tx Tx) (int64, error) {
		return execOne(ctx, tx, statement(releaseShard, own.Shard, own.Epoch))
	})
}

// changeShard runs a change in a transaction. If the change affects no row, the shard is in another epoch, or a live
// operator owns it.
func (s *Store) changeShard(ctx context.Context, op string, seen ledger.Fence, change func(context.Context, Tx) (int64, error)) error {
	return s.transact(ctx, op, func(ctx context.Context, tx Tx) error {
		changed, err := change(ctx, tx)
		if err != nil || changed > 0 {
			return err
		}
		epochs, err := s.lockShards(ctx, tx, []int{seen.Shard})
		if err != nil {
			return err
		}
		if current(epochs, seen) {
			return ledger.ErrOwned
		}
		return ledger.ErrFenced
	})
}

func execOne(ctx context.Context, tx Tx, s Statement) (int64, error) {
	changed, err := tx.Exec(ctx, s)
	if err != nil {
		return 0, err
	}
	return changed[0], nil
}

// writeFenced runs fn in a transaction if own is the current epoch. The epoch cannot change before the transaction
// ends.
func (s *Store) writeFenced(ctx context.Context, op string, own ledger.Fence, fn func(context.Context, Tx) error) error {
	return s.transact(ctx, op, func(ctx context.Context, tx Tx) error {
		epochs, err := s.lockShards(ctx, tx, []int{own.Shard})
		if err != nil {
			return err
		}
		if !current(epochs, own) {
			return ledger.ErrFenced
		}
		return fn(ctx, tx)
	})
}

// checkFences refuses the batches of the group that belong to older epochs. The epochs cannot change before the
// transaction ends.
func (s *Store) checkFences(ctx context.Context, tx Tx, group []*pendingBatch, refused []error) error {
	var shards []int
	for _, p := range group {
		if f := p.batch.Fence; f != (ledger.Fence{}) && !slices.Contains(shards, f.Shard) {
			shards = append(shards, f.Shard)
		}
	}
	epochs, err := s.lockShards(ctx, tx, shards)
	if err != nil {
		return err
	}
	for i, p := range group {
		if f := p.batch.Fence; f != (ledger.Fence{}) && !current(epochs, f) {
			refused[i] = &ledger.FencedError{Fence: f}
		}
	}
	return nil
}

// current reports whether the fence is the epoch of its shard.
func current(epochs map[int]int64, f ledger.Fence) bool {
	epoch, ok := epochs[f.Shard]
	return ok && epoch == f.Epoch
}

// lockShards returns the epochs of shards, which cannot change before the transaction ends. Every writer locks them in
// the same order.
func (s *Store) lockShards(ctx context.Context, tx Tx, shards []int) (map[int]int64, error) {
	if len(shards) == 0 {
		return nil, nil
	}
	slices.Sort(shards)
	var w where
	epochs := make(map[int]int64, len(shards))
	query := `SELECT shard, epoch FROM shards WHERE shard IN (` + addArgs(&w, shards) + `) ORDER BY shard` + s.driver.ShareLock()
	err := tx.Query(ctx, func(r Row) error {
		var shard int
		var epoch int64
		err := r.Scan(&shard, &epoch)
		epochs[shard] = epoch
		return err
	}, query, w.args...)
	return epochs, err
}
