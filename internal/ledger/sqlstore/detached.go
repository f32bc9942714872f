// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/shard"
)

// The statements with %[1]s need the clock of the database.
const (
	insertDetached = `INSERT INTO detached_calls (key, agent_uid, shard, replica, expires_at) VALUES ($1, $2, $3, $4, %[1]s + $5)
	ON CONFLICT (key) DO NOTHING`
	keepDetached    = `UPDATE detached_calls SET expires_at = %[1]s + $1 WHERE key = $2 AND replica = $3 AND result IS NULL`
	finishDetached  = `UPDATE detached_calls SET result = $1, expires_at = %[1]s WHERE key = $2 AND (result IS NULL OR result = $1)`
	selectDetached  = `SELECT key, agent_uid, result, result IS NOT NULL, expires_at <= %[1]s FROM detached_calls WHERE shard = $1`
	abandonDetached = `DELETE FROM detached_calls WHERE key = $1 AND shard = $2 AND result IS NULL`
	findDetached    = `SELECT key FROM detached_calls WHERE key = $1`
	forgetDetached  = `DELETE FROM detached_calls WHERE key = $1 AND shard = $2`

	// isStale is the condition for calls that can be deleted without their owner.
	isStale        = `(expires_at < %[1]s - $1 OR agent_uid IN (SELECT uid FROM agents WHERE expired_at IS NOT NULL))`
	selectStale    = `SELECT key FROM detached_calls WHERE ` + isStale + ` ORDER BY key LIMIT $2`
	deleteStale    = `DELETE FROM detached_calls WHERE ` + isStale + ` AND key = $2`
	selectDivided  = `SELECT d.key, a.shard_hash FROM detached_calls d JOIN agents a ON a.uid = d.agent_uid WHERE a.shard_hash IS NOT NULL`
	updateDetached = `UPDATE detached_calls SET shard = $1 WHERE key = $2`
)

const (
	// detachedRetention is for how long expired calls are kept.
	detachedRetention = 24 * time.Hour
	// staleBatch bounds how many stale calls one Detach deletes.
	staleBatch = 100
)

// rowChange is a statement that changes one detached call. Every writer changes these rows in the order of their keys.
type rowChange struct {
	key string
	Statement
}

// changeDetached runs the changes in the locking order and returns how many rows have changed.
func changeDetached(ctx context.Context, tx Tx, changes []rowChange) (int64, error) {
	changed, err := changeEachDetached(ctx, tx, changes)
	var sum int64
	for _, n := range changed {
		sum += n
	}
	return sum, err
}

// changeEachDetached sorts the changes into the locking order, runs them, and returns how many rows each has changed.
func changeEachDetached(ctx context.Context, tx Tx, changes []rowChange) ([]int64, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(changes, func(a, b rowChange) int { return cmp.Compare(a.key, b.key) })
	statements := make([]Statement, len(changes))
	for i := range changes {
		statements[i] = changes[i].Statement
	}
	return tx.Exec(ctx, statements...)
}

func (s *Store) clocked(query string) string { return fmt.Sprintf(query, s.driver.Clock()) }

func (s *Store) Detach(ctx context.Context, own ledger.Fence, replica string, calls []ledger.DetachedCall, ttl time.Duration) error {
	op := fmt.Sprintf("detach calls of shard %d", own.Shard)
	names := []string{replica}
	for _, c := range calls {
		names = append(names, c.Key, c.Agent)
	}
	if err := errors.Join(checkTTL(op, ttl), checkNames(op, names...)); err != nil {
		return err
	}
	return s.writeFenced(ctx, op, own, func(ctx context.Context, tx Tx) error {
		changes, err := s.staleDetached(ctx, tx, staleBatch)
		if err != nil {
			return err
		}
		insert, lifetime := s.clocked(insertDetached), (ttl + clockResolution).Microseconds()
		for _, c := range calls {
			changes = append(changes, rowChange{c.Key, statement(insert, c.Key, c.Agent, own.Shard, replica, lifetime)})
		}
		_, err = changeDetached(ctx, tx, changes)
		return err
	})
}

func checkTTL(op string, ttl time.Duration) error {
	if ttl <= 0 {
		return fmt.Errorf("%s: %w: a time to live of %s", op, ledger.ErrInvalid, ttl)
	}
	return nil
}

// checkNames refuses names that would be changed when they are stored.
func checkNames(op string, names ...string) error {
	for _, name := range names {
		if name == "" || text(name) != name {
			return fmt.Errorf("%s: %w: name %q", op, ledger.ErrInvalid, name)
		}
	}
	return nil
}

// staleDetached returns changes that delete up to limit stale calls of any shard.
func (s *Store) staleDetached(ctx context.Context, tx Tx, limit int64) ([]rowChange, error) {
	age := detachedRetention.Microseconds()
	drop := s.clocked(deleteStale)
	var changes []rowChange
	err := tx.Query(ctx, func(r Row) error {
		key, err := scanText(r)
		changes = append(changes, rowChange{key, statement(drop, age, key)})
		return err
	}, s.clocked(selectStale), age, limit)
	return changes, err
}

// pruneDetached deletes up to limit stale calls and returns their number.
func (s *Store) pruneDetached(ctx context.Context, tx Tx, limit int64) (int64, error) {
	changes, err := s.staleDetached(ctx, tx, limit)
	if err != nil {
		return 0, err
	}
	return changeDetached(ctx, tx, changes)
}

func (s *Store) KeepDetached(ctx context.Context, replica string, keys []string, ttl time.Duration) (gone []string, err error) {
	const op = "keep detached calls"
	err = errors.Join(checkTTL(op, ttl), checkNames(op, replica), checkNames(op, keys...))
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	keep, lifetime := s.clocked(keepDetached), (ttl + clockResolution).Microseconds()
	changes := make([]rowChange, len(keys))
	for i, key := range keys {
		changes[i] = rowChange{key, statement(keep, lifetime, key, replica)}
	}
	err = s.transact(ctx, op, func(ctx context.Context, tx Tx) error {
		changed, err := changeEachDetached(ctx, tx, changes)
		gone = nil // the transaction may be repeated
		for i, n := range changed {
			if n == 0 {
				gone = append(gone, changes[i].key)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}

func (s *Store) FinishDetached(ctx context.Context, key string, result []byte) (bool, error) {
	op := "finish detached call " + key
	if err := checkNames(op, key); err != nil {
		return false, err
	}
	if result == nil {
		result = []byte{} // nil would be NULL
	}
	var changed int64
	err := s.transact(ctx, op, func(ctx context.Context, tx Tx) (err error) {
		changed, err = execOne(ctx, tx, statement(s.clocked(finishDetached), result, key))
		return err
	})
	return err == nil && changed > 0, err
}

func (s *Store) DetachedCalls(ctx context.Context, shard int) ([]ledger.DetachedCall, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	calls, err := list(ctx, s.driver.Reader(), scanDetached, s.clocked(selectDetached), shard)
	slices.SortFunc(calls, func(a, b ledger.DetachedCall) int { return cmp.Compare(a.Key, b.Key) }) // databases may have another order
	return calls, s.fail(fmt.Sprintf("read the detached calls of shard %d", shard), err)
}

func scanDetached(r row) (ledger.DetachedCall, error) {
	var c ledger.DetachedCall
	var finished, expired bool
	err := r.Scan(&c.Key, &c.Agent, &c.Result, &finished, &expired)
	if finished && c.Result == nil {
		c.Result = []byte{}
	}
	c.Expired = expired && !finished
	return c, err
}

func (s *Store) AbandonDetached(ctx context.Context, own ledger.Fence, key string) (abandoned bool, err error) {
	err = s.writeFenced(ctx, fmt.Sprintf("abandon a detached call of shard %d", own.Shard), own, func(ctx context.Context, tx Tx) error {
		if _, err := execOne(ctx, tx, statement(abandonDetached, text(key), own.Shard)); err != nil {
			return err
		}
		abandoned = true
		return tx.Query(ctx, func(Row) error {
			abandoned = false
			return nil
		}, findDetached, text(key))
	})
	return err == nil && abandoned, err
}

func (s *Store) ForgetDetached(ctx context.Context, own ledger.Fence, keys []string) error {
	op := fmt.Sprintf("delete detached calls of shard %d", own.Shard)
	if err := checkNames(op, keys...); err != nil {
		return err
	}
	changes := make([]rowChange, len(keys))
	for i, key := range keys {
		changes[i] = rowChange{key, statement(forgetDetached, key, own.Shard)}
	}
	return s.writeFenced(ctx, op, own, func(ctx context.Context, tx Tx) error {
		_, err := changeDetached(ctx, tx, changes)
		return err
	})
}

// divideDetached moves detached calls to the shards that their agents have with another number of shards.
func divideDetached(ctx context.Context, tx Tx, count shard.Count) error {
	var changes []rowChange
	err := tx.Query(ctx, func(r Row) error {
		var key string
		var hash int
		err := r.Scan(&key, &hash)
		changes = append(changes, rowChange{key, statement(updateDetached, ledger.FirstShard+count.Of(hash), key)})
		return err
	}, selectDivided)
	if err != nil {
		return err
	}
	_, err = changeDetached(ctx, tx, changes)
	return err
}
