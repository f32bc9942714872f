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
	askHolder    = `UPDATE shards SET request = $1, hand_over = $2 WHERE shard = $3 AND epoch = $4`
	answerAsker  = `UPDATE shards SET answered = $1 WHERE shard = $2 AND epoch = $3`
	releaseShard = `UPDATE shards SET released = TRUE WHERE shard = $1 AND epoch = $2`
)

// lookTimeout bounds reads with which an engine must detect in time that it was superseded.
const lookTimeout = 5 * time.Second

// Holding implements ledger.Shards.
func (s *Store) Holding(ctx context.Context, shard int) (ledger.Holding, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var h ledger.Holding
	row := s.driver.Reader().QueryRowContext(ctx, selectShard, shard)
	err := row.Scan(&h.Epoch, &h.Holder, &h.Released, &h.Request.ID, &h.Request.HandOver, &h.Answered)
	if errors.Is(err, sql.ErrNoRows) {
		return ledger.Holding{}, nil
	}
	if err != nil {
		return ledger.Holding{}, s.fail("read the shard owner", err)
	}
	return h, nil
}

// Take implements ledger.Shards.
func (s *Store) Take(ctx context.Context, shard int, seen int64, holder string, at time.Time) (ledger.Fence, error) {
	take := statement(takeShard, text(holder), micros(at), shard, seen)
	if seen == 0 {
		take = statement(insertShard, shard, text(holder), micros(at))
	}
	fence := ledger.Fence{Shard: shard, Epoch: seen + 1}
	return fence, s.changeShard(ctx, fmt.Sprintf("take shard %d", shard), take)
}

// Ask implements ledger.Shards.
func (s *Store) Ask(ctx context.Context, epoch ledger.Fence, request ledger.Request) error {
	return s.changeShard(ctx, "send a request to the shard owner", statement(askHolder, text(request.ID), request.HandOver, epoch.Shard, epoch.Epoch))
}

// Answer implements ledger.Shards.
func (s *Store) Answer(ctx context.Context, own ledger.Fence, request string) error {
	return s.changeShard(ctx, "answer a request for the shard", statement(answerAsker, text(request), own.Shard, own.Epoch))
}

// Release implements ledger.Shards.
func (s *Store) Release(ctx context.Context, own ledger.Fence) error {
	return s.changeShard(ctx, fmt.Sprintf("release shard %d", own.Shard), statement(releaseShard, own.Shard, own.Epoch))
}

// Attend implements ledger.Shards.
func (s *Store) Attend(ctx context.Context, shard int) (leave func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	leave, err = s.driver.Attend(ctx, shard)
	if err != nil && !errors.Is(err, ledger.ErrAttended) && !errors.Is(err, ledger.ErrUnsupported) {
		return nil, s.fail("attend", err)
	}
	return leave, err
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
func checkFences(ctx context.Context, tx Tx, query string, group []*pending) error {
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
	held, err := tx.Exec(ctx, statements...)
	if err != nil {
		return err
	}
	for i, f := range fences {
		if held[i] == 0 {
			return &ledger.FencedError{Fence: f}
		}
	}
	return nil
}
