// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Load implements ledger.Histories. It reads in one transaction, so that the parts are consistent with concurrent
// writers.
func (s *Store) Load(ctx context.Context, uid string) (ledger.History, error) {
	var history ledger.History
	err := s.read(ctx, func(db querier) error {
		var err error
		if history.Agent, err = agent(ctx, db, uid); err != nil {
			return err
		}
		var after int64
		if history.Snapshot, err = snapshot(ctx, db, uid); err != nil {
			return err
		}
		if history.Snapshot != nil {
			after = history.Snapshot.Seq
		}
		history.Events, err = events(ctx, db, uid, after, math.MaxInt32)
		return err
	})
	return history, s.fail("load agent "+uid, err)
}

func (s *Store) Events(ctx context.Context, uid string, after int64, limit int) ([]ledger.Event, error) {
	page, err := events(ctx, s.driver.Reader(), uid, after, ledger.Page{Limit: limit}.Size())
	return page, s.fail("read events of agent "+uid, err)
}

func events(ctx context.Context, db querier, uid string, after int64, limit int) ([]ledger.Event, error) {
	return eventsOf(ctx, db, scanEvent, uid, after, limit)
}

func scanEvent(r row) (ledger.Event, error) {
	e, form, err := scanStoredEvent(r)
	restoreEvent(&e, form)
	return e, err
}

func scanEventText(r row) (ledger.Event, error) {
	e, _, err := scanStoredEvent(r)
	return e, err
}

// scanStoredEvent scans an event with its data as it is stored, which is what references refer to.
func scanStoredEvent(r row) (e ledger.Event, form int, err error) {
	var at int64
	err = r.Scan(&e.Seq, &e.Type, &at, &form, (*[]byte)(&e.Data))
	e.At = fromMicros(at)
	return e, form, err
}

func snapshot(ctx context.Context, db querier, uid string) (*ledger.Snapshot, error) {
	var seq int64
	var data []byte
	var form int
	err := db.QueryRowContext(ctx, `SELECT seq, data, form FROM snapshots WHERE agent_uid = $1`, uid).Scan(&seq, &data, &form)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// A snapshot with broken references is ignored: the events are authoritative.
	whole, err := newUnfolder(ctx, db).body(uid, data, form == formFolded)
	return &ledger.Snapshot{Seq: seq, Data: whole}, err
}

// read runs fn on a consistent view of the database.
func (s *Store) read(ctx context.Context, fn func(querier) error) error {
	tx, err := s.driver.Reader().BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // a read-only transaction
	return fn(tx)
}
