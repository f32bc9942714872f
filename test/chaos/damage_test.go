// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // writes to the ledger without the operator
	_ "modernc.org/sqlite"             // the same
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// damage makes the newest event of an agent unreadable while no operator is running. Only that agent may be affected.
func (f *faultInjector) damage(ctx context.Context) error {
	o, uid := f.nextToDamage(ctx)
	if o == nil {
		return nil
	}
	if err := f.kill(); err != nil {
		return err
	}
	if err := f.world.damageEvent(ctx, uid); err != nil {
		return err
	}
	f.damaged[uid] = true
	f.counts["the agent lost its history"]++
	o.jobs[0].ends = []outcome{damaged}
	return f.start(ctx)
}

// nextToDamage returns an order whose agent has started and is not damaged yet, with that agent's UID.
func (f *faultInjector) nextToDamage(ctx context.Context) (*order, string) {
	f.world.creating.Lock()
	defer f.world.creating.Unlock()
	for _, o := range f.world.orders {
		if !o.damaged {
			continue
		}
		var sub v1beta1.SubAgent
		key := client.ObjectKey{Namespace: o.objects()[0].GetNamespace(), Name: o.name}
		if err := f.world.stack.API.Get(ctx, key, &sub); err != nil || f.damaged[string(sub.UID)] {
			continue
		}
		if a, err := f.world.ledger.Agent(ctx, string(sub.UID)); err == nil && a.Live() {
			return o, a.UID
		}
	}
	return nil, ""
}

// damageEvent replaces the newest event of an agent by one with an unknown type, and deletes its snapshot.
func (w *world) damageEvent(ctx context.Context, uid string) error {
	driver, name := "pgx", w.stack.LedgerURL
	if path, ok := strings.CutPrefix(name, "sqlite:"); ok {
		driver, name = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		return fmt.Errorf("open the ledger: %w", err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range []string{
		`UPDATE event_rows SET form = 0, data = '{"v":1,"type":"Poison","at":1,"fact":{}}' WHERE agent = (SELECT id FROM agents WHERE uid = $1) AND seq = (SELECT MAX(seq) FROM events WHERE agent_uid = $1)`,
		`DELETE FROM snapshots WHERE agent_uid = $1`,
	} {
		if _, err := db.ExecContext(ctx, statement, uid); err != nil {
			return fmt.Errorf("damage the record of agent %s: %w", uid, err)
		}
	}
	return nil
}
