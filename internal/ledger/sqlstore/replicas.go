// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// The statements with %[1]s need the clock of the database.
const (
	saveReplica = `INSERT INTO replicas (id, name, address, fingerprint, state, changed_at, expires_at) VALUES ($1, $2, $3, $4, $5, %[1]s, %[1]s + $6)
	ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, state = excluded.state,
	changed_at = CASE WHEN replicas.state = excluded.state THEN replicas.changed_at ELSE excluded.changed_at END`
	dropNamesake      = `DELETE FROM replicas WHERE name = $1 AND id <> $2`
	dropStaleReplicas = `DELETE FROM replicas WHERE expires_at < %[1]s - $1`
	dropReplica       = `DELETE FROM replicas WHERE id = $1`
	selectReplicas    = `SELECT id, name, address, fingerprint, state, changed_at, expires_at, %[1]s FROM replicas`
)

func (s *Store) JoinReplicas(ctx context.Context, self ledger.Replica, ttl time.Duration) error {
	return s.saveReplica(ctx, "join the replicas", self, ttl, statement(dropNamesake, self.Name, self.ID))
}

func (s *Store) RenewReplica(ctx context.Context, self ledger.Replica, ttl time.Duration) error {
	return s.saveReplica(ctx, "renew the replica", self, ttl, statement(s.clocked(dropStaleReplicas), staleAfter.Microseconds()))
}

func (s *Store) saveReplica(ctx context.Context, op string, self ledger.Replica, ttl time.Duration, drop Statement) error {
	if err := errors.Join(checkTTL(op, ttl), checkNames(op, self.ID, self.Name)); err != nil {
		return err
	}
	lifetime := (ttl + clockResolution).Microseconds()
	save := statement(s.clocked(saveReplica), self.ID, self.Name, text(self.Address), text(self.Fingerprint), text(string(self.State)), lifetime)
	return s.transact(ctx, op, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, drop, save)
		return err
	})
}

func (s *Store) LeaveReplicas(ctx context.Context, id string) error {
	return s.transact(ctx, "leave the replicas", func(ctx context.Context, tx Tx) error {
		_, err := execOne(ctx, tx, statement(dropReplica, text(id)))
		return err
	})
}

func (s *Store) Replicas(ctx context.Context) ([]ledger.Replica, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	replicas, err := list(ctx, s.driver.Reader(), scanReplica, s.clocked(selectReplicas))
	slices.SortFunc(replicas, func(a, b ledger.Replica) int { return cmp.Compare(a.ID, b.ID) }) // databases may have another order
	return replicas, s.fail("read the replicas", err)
}

func scanReplica(r row) (ledger.Replica, error) {
	var replica ledger.Replica
	var changed, expires, now int64
	err := r.Scan(&replica.ID, &replica.Name, &replica.Address, &replica.Fingerprint, &replica.State, &changed, &expires, &now)
	replica.Steady = time.Duration(max(now-changed, 0)) * time.Microsecond
	if now >= expires {
		replica.Expired = max(time.Duration(now-expires)*time.Microsecond, 1)
	}
	return replica, err
}
