// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"sync"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// indexProgress is the position of UpdateIndex among the agents, which it visits from the newest to the oldest. The
// position in the events of an agent is in the ledger.
type indexProgress struct {
	mu     sync.Mutex
	before int64
}

const (
	nextUnindexed = `SELECT a.id, a.uid, a.last_seq, COALESCE(s.seq, a.origin_seq) FROM agents a LEFT JOIN search_agents s ON s.agent = a.id
	WHERE a.expired_at IS NULL AND a.last_seq > COALESCE(s.seq, a.origin_seq) AND ($1 = 0 OR a.id < $1) ORDER BY a.id DESC LIMIT 1`
	// lockAgent keeps retention from expiring the agent until the transaction ends.
	lockAgent = `SELECT id FROM agents WHERE id = $1 AND expired_at IS NULL`
	// An index that begins again may have entries from before search was turned off.
	dropLeftEntries = `DELETE FROM search_entries WHERE agent = $1 AND EXISTS (SELECT 1 FROM search_agents WHERE agent = $1 AND seq = (SELECT origin_seq FROM agents WHERE id = $1))`
	dropSearchAgent = `DELETE FROM search_agents WHERE agent IN (SELECT agent FROM search_agents LIMIT $1)`
	dropSearchEntry = `DELETE FROM search_entries WHERE (agent, seq) IN (SELECT agent, seq FROM search_entries LIMIT $1)`
)

func (s *Store) UpdateIndex(ctx context.Context, limit int) (int64, error) {
	if s.textOf == nil {
		return s.dropIndex(ctx, ledger.Page{Limit: limit}.Size())
	}
	s.indexing.mu.Lock()
	defer s.indexing.mu.Unlock()
	n, err := s.indexNext(ctx, ledger.Page{Limit: limit}.Size())
	return n, s.fail("index", err)
}

// unindexed is an agent with events that are missing in the index.
type unindexed struct {
	id        int64
	uid       string
	last, seq int64
}

func (s *Store) indexNext(ctx context.Context, limit int) (int64, error) {
	scan := into(func(a *unindexed) []any { return []any{&a.id, &a.uid, &a.last, &a.seq} })
	next, err := list(ctx, s.driver.Reader(), scan, nextUnindexed, s.indexing.before)
	if err != nil {
		return 0, err
	}
	if len(next) == 0 {
		s.indexing.before = 0
		return 0, nil
	}
	a := next[0]
	page, err := events(ctx, s.driver.Reader(), a.uid, a.seq, limit)
	if err != nil {
		return 0, err
	}
	part := s.index(a.seq, page)
	if part == nil || part.last != page[len(page)-1].Seq { // events are missing: search does without the agent
		s.indexing.before = a.id
		return 1, nil
	}
	s.indexing.before = a.id + 1
	if part.last >= a.last {
		s.indexing.before = a.id
	}
	return int64(len(page)), s.driver.Write(ctx, func(tx Tx) error {
		live := false
		scan := func(Row) error { live = true; return nil }
		if err := tx.Query(ctx, scan, lockAgent+s.driver.ShareLock(), a.id); err != nil || !live {
			return err
		}
		changed, err := tx.Exec(ctx, statement(insertSearchAgent, a.id), statement(dropLeftEntries, a.id), part.advance(a.id))
		if err != nil || changed[2] == 0 { // another operator has indexed these events
			return err
		}
		_, err = tx.Exec(ctx, part.insert(s.driver, a.id)...)
		return err
	})
}

// dropIndex deletes the index of a ledger without search. The agents come first, so that no position outlasts its
// entries.
func (s *Store) dropIndex(ctx context.Context, limit int) (int64, error) {
	var left int64
	err := s.driver.Reader().QueryRowContext(ctx, `SELECT COUNT(*) FROM (SELECT agent FROM search_entries LIMIT 1) AS entries`).Scan(&left)
	if err != nil || left == 0 {
		return 0, s.fail("drop the index", err)
	}
	var dropped int64
	err = s.transact(ctx, "drop the index", func(ctx context.Context, tx Tx) error {
		changed, err := tx.Exec(ctx, statement(dropSearchAgent, limit), statement(dropSearchEntry, limit))
		if err == nil {
			dropped = changed[0] + changed[1]
		}
		return err
	})
	return dropped, err
}
