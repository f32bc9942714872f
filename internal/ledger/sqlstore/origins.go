// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// part is the events of an agent that one row of agents has: those after the event after, up to until.
type part struct{ agent, after, until int64 }

func (p part) has(seq int64) bool { return p.after < seq && seq <= p.until }

// selectParts selects the agent and its origins, of which the agent has the events up to the place of the fork.
const selectParts = `WITH RECURSIVE line (id, origin_uid, origin_seq, until, depth) AS (
	SELECT id, origin_uid, origin_seq, CAST(9223372036854775807 AS BIGINT), 0 FROM agents WHERE uid = $1
	UNION ALL
	SELECT a.id, a.origin_uid, a.origin_seq, CASE WHEN line.until < line.origin_seq THEN line.until ELSE line.origin_seq END, line.depth + 1
	FROM line JOIN agents a ON a.uid = line.origin_uid WHERE line.origin_uid <> '')
	SELECT id, origin_seq, until FROM line ORDER BY depth DESC`

// partsOf returns where the events of an agent are, in their order.
func partsOf(ctx context.Context, db querier, uid string) ([]part, error) {
	parts, err := list(ctx, db, into(func(p *part) []any { return []any{&p.agent, &p.after, &p.until} }), selectParts, uid)
	return slices.DeleteFunc(parts, func(p part) bool { return p.until <= p.after }), err
}

const eventsOfPart = `SELECT seq, type, at, form, data FROM event_rows WHERE agent = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4`

// eventsOf returns up to limit events of an agent after a sequence number, with those of its origins.
func eventsOf(ctx context.Context, db querier, scan func(row) (ledger.Event, error), uid string, after int64, limit int) ([]ledger.Event, error) {
	parts, err := partsOf(ctx, db, uid)
	var all []ledger.Event
	for _, p := range parts {
		if err != nil || len(all) >= limit {
			break
		}
		if p.until <= after {
			continue
		}
		var page []ledger.Event
		page, err = list(ctx, db, scan, eventsOfPart, p.agent, max(after, p.after), p.until, limit-len(all))
		all = append(all, page...)
	}
	return all, err
}

// lockOrigin selects the origin of a new fork. It must have the events, and belong to the same namespace.
const lockOrigin = `SELECT id FROM agents WHERE uid = $1 AND expired_at IS NULL AND last_seq >= $2 AND namespace = $3 AND namespace_uid = $4`

// lockOrigins keeps retention from deleting the origins of new forks, and refuses the batches of those without one.
func (s *Store) lockOrigins(ctx context.Context, tx Tx, group []*pendingBatch, refused []error) error {
	for i, p := range group {
		a := p.batch.Create
		if a == nil || a.Origin == "" || refused[i] != nil {
			continue
		}
		exists := false
		scan := func(Row) error { exists = true; return nil }
		if err := tx.Query(ctx, scan, lockOrigin+s.driver.ShareLock(), a.Origin, a.OriginSeq, text(a.Namespace), text(a.NamespaceUID)); err != nil {
			return err
		}
		if !exists {
			refused[i] = fmt.Errorf("%w: the namespace has no agent %s with the event %d", ledger.ErrInvalid, a.Origin, a.OriginSeq)
		}
	}
	return nil
}

// throughOrigins calls find for an agent, and then for its origins until one has what is searched. The root of a tree
// alone can be a fork. until is the last event that the agent has of the origin.
func (s *Store) throughOrigins(ctx context.Context, uid string, find func(uid string, until int64) (found bool, err error)) (bool, error) {
	until := int64(math.MaxInt64)
	for {
		found, err := find(uid, until)
		if found || err != nil {
			return found, err
		}
		root, origin, seq := "", "", int64(0)
		err = s.driver.Reader().QueryRowContext(ctx, `SELECT root.uid, root.origin_uid, root.origin_seq FROM agents self
			JOIN agents root ON root.uid = self.root_uid WHERE self.uid = $1`, uid).Scan(&root, &origin, &seq)
		if errors.Is(err, sql.ErrNoRows) || err == nil && origin == "" {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if until = min(until, seq); root != uid { // the events of the agent are not those of the root
			until = seq
		}
		uid = origin
	}
}
