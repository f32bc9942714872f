// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	saveShare = `INSERT INTO shares (resource, replica, amount, demand, written_at, expires_at) VALUES ($1, $2, $3, $4, %[1]s, %[1]s + $5)
	ON CONFLICT (resource, replica) DO UPDATE SET amount = excluded.amount, demand = excluded.demand, written_at = excluded.written_at,
	expires_at = excluded.expires_at`
	// dropShare does not drop a share that was renewed since it was read.
	dropShare = `DELETE FROM shares WHERE resource = $1 AND replica = $2 AND written_at = $3`
)

// staleAfter is for how long expired shares remain visible.
const staleAfter = 10 * time.Minute

// clockResolution is that of the databases' clocks: a share must not expire early.
const clockResolution = time.Millisecond

// storedShare is a row of the table, with the time at which it was read.
type storedShare struct {
	ledger.Share
	written, expires, now int64
}

// stale reports whether any replica may delete the row.
func (s *storedShare) stale() bool { return s.now-s.expires > staleAfter.Microseconds() }

func (s *Store) UpdateShares(ctx context.Context, replica string, resources []string, ttl time.Duration, decide func([]ledger.Share) []ledger.Share) error {
	if replica == "" || ttl <= 0 || slices.ContainsFunc(append(slices.Clone(resources), replica), func(s string) bool { return text(s) != s }) {
		return fmt.Errorf("update shares of %q: %w: a name or the time to live", replica, ledger.ErrInvalid)
	}
	if len(resources) == 0 {
		return nil
	}
	return s.transact(ctx, "update shares of "+replica, func(ctx context.Context, tx Tx) error {
		stored, err := s.lockShares(ctx, tx, resources)
		if err != nil {
			return err
		}
		var all []ledger.Share
		for i := range stored {
			if slices.Contains(resources, stored[i].Resource) {
				all = append(all, stored[i].Share)
			}
		}
		next := decide(all)
		if err := checkShares(next, resources); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, s.changeShares(replica, resources, ttl, stored, next)...)
		return err
	})
}

// lockShares excludes other replicas from the resources until the transaction ends, and returns the shares of these
// resources and all stale ones. Every replica takes the locks in the same order, and all of them before it writes.
func (s *Store) lockShares(ctx context.Context, tx Tx, resources []string) ([]storedShare, error) {
	var locks []Statement
	if query := s.driver.LockSQL(); query != "" {
		keys := make([]int32, len(resources))
		for i, resource := range resources {
			keys[i] = lockKey(resource)
		}
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			locks = append(locks, statement(query, key))
		}
	}
	var w where
	clock := s.driver.Clock()
	query := `SELECT resource, replica, amount, demand, written_at, expires_at, ` + clock + ` FROM shares
	WHERE resource IN (` + addArgs(&w, resources) + `) OR expires_at < ` + clock + ` - ` + w.arg(staleAfter.Microseconds())
	var stored []storedShare
	err := tx.QueryAfter(ctx, locks, func(r Row) error {
		share, err := scanShare(r)
		stored = append(stored, share)
		return err
	}, query, w.args...)
	slices.SortFunc(stored, func(a, b storedShare) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Replica, b.Replica))
	})
	return stored, err
}

// lockKey returns the number of a resource's lock. Resources with the same number only wait for each other.
func lockKey(resource string) int32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(resource)) // It never fails.
	return int32(h.Sum32())          //nolint:gosec // Any number will do.
}

func scanShare(r Row) (storedShare, error) {
	var s storedShare
	err := r.Scan(&s.Resource, &s.Replica, &s.Amount, &s.Demand, &s.written, &s.expires, &s.now)
	s.Expired = s.now >= s.expires
	s.Age = time.Duration(s.now-s.written) * time.Microsecond
	return s, err
}

func checkShares(shares []ledger.Share, resources []string) error {
	checked := map[string]bool{}
	for _, share := range shares {
		if checked[share.Resource] || share.Amount < 0 || !slices.Contains(resources, share.Resource) {
			return fmt.Errorf("%w: %d of resource %q", ledger.ErrInvalid, share.Amount, share.Resource)
		}
		checked[share.Resource] = true
	}
	return nil
}

// changeShares returns the statements that store the next shares of the replica, and delete those that it left out and
// stale ones. They are sorted by row: every replica locks rows in the same order.
func (s *Store) changeShares(replica string, resources []string, ttl time.Duration, stored []storedShare, next []ledger.Share) []Statement {
	type change struct {
		resource, replica string
		Statement
	}
	kept := map[string]bool{}
	var changes []change
	save, lifetime := fmt.Sprintf(saveShare, s.driver.Clock()), (ttl + clockResolution).Microseconds()
	for _, share := range next {
		kept[share.Resource] = true
		demand := append([]byte{}, share.Demand...) // nil would be NULL
		changes = append(changes, change{share.Resource, replica, statement(save, share.Resource, replica, share.Amount, demand, lifetime)})
	}
	for i := range stored {
		row := &stored[i]
		own := row.Replica == replica && slices.Contains(resources, row.Resource)
		if (own && !kept[row.Resource]) || (!own && row.stale()) {
			changes = append(changes, change{row.Resource, row.Replica, statement(dropShare, row.Resource, row.Replica, row.written)})
		}
	}
	slices.SortFunc(changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(a.replica, b.replica))
	})
	statements := make([]Statement, len(changes))
	for i := range changes {
		statements[i] = changes[i].Statement
	}
	return statements
}
