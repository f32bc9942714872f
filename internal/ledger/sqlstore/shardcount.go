// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"fmt"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/shard"
)

const (
	// lockShardCount stores the number of shards unless there is one, and locks it until the transaction ends.
	lockShardCount = `INSERT INTO settings (name, value) VALUES ('shards', $1) ON CONFLICT (name) DO UPDATE SET value = settings.value`
	readShardCount = `SELECT value FROM settings WHERE name = 'shards'`
	saveShardCount = `UPDATE settings SET value = $1 WHERE name = 'shards'`
	ownersInUse    = `SELECT DISTINCT s.holder FROM shards s JOIN replicas r ON r.id = s.holder WHERE NOT s.released AND r.expires_at > %s ORDER BY s.holder`
	// endEpochs keeps an operator that was suspended from appending to a shard of the old number.
	endEpochs = `UPDATE shards SET epoch = epoch + 1, released = TRUE WHERE NOT released`
)

func (s *Store) SetShardCount(ctx context.Context, count int) (int, error) {
	op := fmt.Sprintf("divide the ledger into %d shards", count)
	if !shard.Count(count).Valid() {
		return 0, fmt.Errorf("%s: %w: at least 1 and at most %d are possible", op, ledger.ErrInvalid, shard.Hashes)
	}
	var current int
	var inUse *ledger.ShardsInUseError
	err := s.transact(ctx, op, func(ctx context.Context, tx Tx) (err error) {
		current, inUse, err = s.setShardCount(ctx, tx, count)
		return err
	})
	if err != nil {
		return 0, err
	}
	if inUse != nil {
		return current, inUse
	}
	s.shardCount.Store(int64(count))
	return current, nil
}

// setShardCount returns the number of shards, and who owns them if that prevents the change.
func (s *Store) setShardCount(ctx context.Context, tx Tx, count int) (int, *ledger.ShardsInUseError, error) {
	if _, err := tx.Exec(ctx, statement(lockShardCount, count)); err != nil {
		return 0, nil, err
	}
	stored, err := tx.Int64(ctx, readShardCount)
	if err != nil || int(stored) == count {
		return count, nil, err
	}
	var owners []string
	err = tx.Query(ctx, func(r Row) error {
		owner, err := scanText(r)
		owners = append(owners, owner)
		return err
	}, s.clocked(ownersInUse))
	if err != nil {
		return 0, nil, err
	}
	if len(owners) > 0 {
		return int(stored), &ledger.ShardsInUseError{Current: int(stored), Wanted: count, Owners: owners}, nil
	}
	if _, err = tx.Exec(ctx, statement(saveShardCount, count), statement(endEpochs)); err != nil {
		return 0, nil, err
	}
	return count, nil, divideDetached(ctx, tx, shard.Count(count))
}

// checkShardCount fails if other operators have changed the number of shards. It cannot change before the transaction
// ends.
func (s *Store) checkShardCount(ctx context.Context, tx Tx) error {
	count := s.shardCount.Load()
	if count == 0 {
		return nil
	}
	return tx.Query(ctx, func(r Row) error {
		var stored int64
		if err := r.Scan(&stored); err != nil {
			return err
		}
		if stored != count {
			return ledger.ErrShardCountChanged
		}
		return nil
	}, readShardCount+s.driver.ShareLock())
}
