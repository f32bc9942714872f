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

const (
	selectShards = `SELECT shard, epoch, holder, released, request, hand_over, answered FROM shards`
	insertShard  = `INSERT INTO shards (shard, epoch, holder, taken_at) VALUES ($1, 1, $2, $3) ON CONFLICT (shard) DO NOTHING`
	takeShard    = `UPDATE shards SET epoch = epoch + 1, holder = $1, taken_at = $2, released = FALSE, request = '', hand_over = FALSE, answered = ''
	WHERE shard = $3 AND epoch = $4`
	sendOwnerRequest   = `UPDATE shards SET request = $1, hand_over = $2 WHERE shard = $3 AND epoch = $4`
	answerOwnerRequest = `UPDATE shards SET answered = $1 WHERE shard = $2 AND epoch = $3`
	releaseShard       = `UPDATE shards SET released = TRUE WHERE shard = $1 AND epoch = $2`
	retireShard        = `UPDATE shards SET epoch = $1, released = FALSE WHERE shard = $2 AND epoch = $3`
)

// readTimeout bounds reads with which an engine must detect in time that it was superseded.
const readTimeout = 5 * time.Second

func (s *Store) ReadOwner(ctx context.Context, shard int) (ledger.ShardOwner, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	row, err := scanShard(s.driver.Reader().QueryRowContext(ctx, selectShards+` WHERE shard = $1`, shard))
	if errors.Is(err, sql.ErrNoRows) {
		return ledger.ShardOwner{}, nil
	}
	return row.owner, s.fail("read the shard owner", err)
}

func (s *Store) Owners(ctx context.Context) (map[int]ledger.ShardOwner, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	rows, err := list(ctx, s.driver.Reader(), scanShard, selectShards)
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

func scanShard(r row) (shardRow, error) {
	var s shardRow
	o := &s.owner
	err := r.Scan(&s.shard, &o.Epoch, &o.Name, &o.Released, &o.Request.ID, &o.Request.HandOver, &o.Answered)
	return s, err
}

func (s *Store) TakeOver(ctx context.Context, shard int, seen int64, owner string, at time.Time) (ledger.Fence, error) {
	if seen == ledger.RetiredEpoch {
		return ledger.Fence{}, s.fail(fmt.Sprintf("take shard %d", shard), ledger.ErrRetired)
	}
	take := statement(takeShard, text(owner), micros(at), shard, seen)
	if seen == 0 {
		take = statement(insertShard, shard, text(owner), micros(at))
	}
	fence := ledger.Fence{Shard: shard, Epoch: seen + 1}
	return fence, s.changeShard(ctx, fmt.Sprintf("take shard %d", shard), shard, func(ctx context.Context, tx Tx) (int64, error) {
		if err := s.checkShardCount(ctx, tx, shard); err != nil {
			return 0, err
		}
		return execOne(ctx, tx, take)
	})
}

func (s *Store) SendRequest(ctx context.Context, epoch ledger.Fence, request ledger.OwnerRequest) error {
	return s.updateShard(ctx, "send a request to the shard owner", epoch, statement(sendOwnerRequest, text(request.ID), request.HandOver, epoch.Shard, epoch.Epoch))
}

func (s *Store) AnswerRequest(ctx context.Context, own ledger.Fence, request string) error {
	return s.updateShard(ctx, "answer a request for the shard", own, statement(answerOwnerRequest, text(request), own.Shard, own.Epoch))
}

func (s *Store) Release(ctx context.Context, own ledger.Fence) error {
	return s.updateShard(ctx, fmt.Sprintf("release shard %d", own.Shard), own, statement(releaseShard, own.Shard, own.Epoch))
}

func (s *Store) Retire(ctx context.Context, own ledger.Fence) error {
	return s.updateShard(ctx, fmt.Sprintf("retire shard %d", own.Shard), own, statement(retireShard, int64(ledger.RetiredEpoch), own.Shard, own.Epoch))
}

func (s *Store) LockLiveness(ctx context.Context, shard int) (unlock func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	unlock, err = s.driver.LockLiveness(ctx, shard)
	if err != nil && !errors.Is(err, ledger.ErrLivenessLocked) && !errors.Is(err, ledger.ErrUnsupported) {
		return nil, s.fail("take the liveness lock", err)
	}
	return unlock, err
}

// updateShard runs a statement that changes no row if the shard is not in the epoch.
func (s *Store) updateShard(ctx context.Context, op string, epoch ledger.Fence, update Statement) error {
	if epoch.Epoch == ledger.RetiredEpoch {
		return s.fail(op, ledger.ErrRetired)
	}
	return s.changeShard(ctx, op, epoch.Shard, func(ctx context.Context, tx Tx) (int64, error) { return execOne(ctx, tx, update) })
}

// changeShard runs a change in a transaction. It fails if the change affects no row, because the shard is in another epoch.
func (s *Store) changeShard(ctx context.Context, op string, shard int, change func(context.Context, Tx) (int64, error)) error {
	return s.transact(ctx, op, func(ctx context.Context, tx Tx) error {
		changed, err := change(ctx, tx)
		if err != nil || changed > 0 {
			return err
		}
		epochs, err := s.lockShards(ctx, tx, []int{shard})
		if err != nil {
			return err
		}
		if epochs[shard] == ledger.RetiredEpoch {
			return ledger.ErrRetired
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

// writeFenced runs fn in a transaction if own is the current epoch. The epoch cannot change before the transaction ends.
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

// checkFences refuses the batches of the group that belong to older epochs. The epochs cannot change before the transaction ends.
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

// current reports whether the fence is the epoch of its shard. Nothing is current in a retired shard.
func current(epochs map[int]int64, f ledger.Fence) bool {
	epoch, ok := epochs[f.Shard]
	return ok && epoch == f.Epoch && epoch != ledger.RetiredEpoch
}

// lockShards returns the epochs of shards, which cannot change before the transaction ends. Every writer locks them in the same
// order.
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
