// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	selectShard = `SELECT epoch, holder, released, request, hand_over, answered FROM shards WHERE shard = $1`
	insertShard = `INSERT INTO shards (shard, epoch, holder, taken_at) VALUES ($1, 1, $2, $3) ON CONFLICT (shard) DO NOTHING`
	takeShard   = `UPDATE shards SET epoch = epoch + 1, holder = $1, taken_at = $2, released = FALSE, request = '', hand_over = FALSE, answered = ''
	WHERE shard = $3 AND epoch = $4`
	sendOwnerRequest   = `UPDATE shards SET request = $1, hand_over = $2 WHERE shard = $3 AND epoch = $4`
	answerOwnerRequest = `UPDATE shards SET answered = $1 WHERE shard = $2 AND epoch = $3`
	releaseShard       = `UPDATE shards SET released = TRUE WHERE shard = $1 AND epoch = $2`
)

// readTimeout bounds reads with which an engine must detect in time that it was superseded.
const readTimeout = 5 * time.Second

// ReadOwner implements ledger.Shards.
func (s *Store) ReadOwner(ctx context.Context, shard int) (ledger.ShardOwner, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var owner ledger.ShardOwner
	row := s.driver.Reader().QueryRowContext(ctx, selectShard, shard)
	err := row.Scan(&owner.Epoch, &owner.Name, &owner.Released, &owner.Request.ID, &owner.Request.HandOver, &owner.Answered)
	if errors.Is(err, sql.ErrNoRows) {
		return ledger.ShardOwner{}, nil
	}
	if err != nil {
		return ledger.ShardOwner{}, s.fail("read the shard owner", err)
	}
	return owner, nil
}

// TakeOver implements ledger.Shards.
func (s *Store) TakeOver(ctx context.Context, shard int, seen int64, owner string, at time.Time) (ledger.Fence, error) {
	take := statement(takeShard, text(owner), micros(at), shard, seen)
	if seen == 0 {
		take = statement(insertShard, shard, text(owner), micros(at))
	}
	fence := ledger.Fence{Shard: shard, Epoch: seen + 1}
	return fence, s.changeShard(ctx, fmt.Sprintf("take shard %d", shard), take)
}

// SendRequest implements ledger.Shards.
func (s *Store) SendRequest(ctx context.Context, epoch ledger.Fence, request ledger.OwnerRequest) error {
	return s.changeShard(ctx, "send a request to the shard owner", statement(sendOwnerRequest, text(request.ID), request.HandOver, epoch.Shard, epoch.Epoch))
}

// AnswerRequest implements ledger.Shards.
func (s *Store) AnswerRequest(ctx context.Context, own ledger.Fence, request string) error {
	return s.changeShard(ctx, "answer a request for the shard", statement(answerOwnerRequest, text(request), own.Shard, own.Epoch))
}

// Release implements ledger.Shards.
func (s *Store) Release(ctx context.Context, own ledger.Fence) error {
	return s.changeShard(ctx, fmt.Sprintf("release shard %d", own.Shard), statement(releaseShard, own.Shard, own.Epoch))
}

// LockLiveness implements ledger.Shards.
func (s *Store) LockLiveness(ctx context.Context, shard int) (unlock func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	unlock, err = s.driver.LockLiveness(ctx, shard)
	if err != nil && !errors.Is(err, ledger.ErrLivenessLocked) && !errors.Is(err, ledger.ErrUnsupported) {
		return nil, s.fail("take the liveness lock", err)
	}
	return unlock, err
}

// changeShard runs a statement that changes no row if the shard is in another epoch.
func (s *Store) changeShard(ctx context.Context, op string, change Statement) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	err := s.driver.Write(ctx, func(tx Tx) error {
		changed, err := tx.Exec(ctx, change)
		if err == nil && changed[0] == 0 {
			err = ledger.ErrFenced
		}
		return err
	})
	return s.fail(op, err)
}

// checkFences fails if a batch of the group belongs to an older epoch. The epochs cannot change before the transaction ends.
func checkFences(ctx context.Context, tx Tx, query string, group []*pendingBatch) error {
	var statements []Statement
	var fences []ledger.Fence
	seen := map[ledger.Fence]bool{{}: true}
	for _, p := range group {
		if f := p.batch.Fence; !seen[f] {
			seen[f] = true
			fences = append(fences, f)
			statements = append(statements, statement(query, f.Shard, f.Epoch))
		}
	}
	if len(statements) == 0 {
		return nil
	}
	changed, err := tx.Exec(ctx, statements...)
	if err != nil {
		return err
	}
	for i, f := range fences {
		if changed[i] == 0 {
			return &ledger.FencedError{Fence: f}
		}
	}
	return nil
}
