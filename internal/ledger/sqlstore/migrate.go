// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/migrations"
)

const (
	createMigrations = `CREATE TABLE IF NOT EXISTS schema_migrations (
	version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)`
	currentVersion  = `SELECT COALESCE(MAX(version), 0) FROM schema_migrations`
	countOtherFirst = `SELECT COUNT(*) FROM schema_migrations WHERE version = 1 AND name <> $1`
	recordMigration = `INSERT INTO schema_migrations (version, name, applied_at) VALUES ($1, $2, $3)`
)

// Migrate applies all newer migrations in one transaction. The lock statements run first and exclude other processes
// until the transaction ends; a driver whose write transactions exclude each other needs none.
func Migrate(ctx context.Context, driver Driver, all []migrations.Migration, lock ...Statement) error {
	err := driver.Write(ctx, func(tx Tx) error {
		for _, s := range append(lock, statement(createMigrations)) {
			if _, err := tx.Exec(ctx, s); err != nil {
				return err
			}
		}
		other, err := tx.Int64(ctx, countOtherFirst, all[0].Name)
		if err != nil {
			return err
		}
		if other > 0 {
			return &ledger.Error{
				Ledger: driver.Name(), Op: "open", Reason: ledger.ReasonSchemaTooOld,
				Err: errors.New("the ledger was created by a version of Nestor before 0.1.0"),
			}
		}
		version, err := tx.Int64(ctx, currentVersion)
		if err != nil {
			return err
		}
		if newest := int64(len(all)); version > newest {
			return &ledger.Error{
				Ledger: driver.Name(), Op: "open", Reason: ledger.ReasonSchemaTooNew,
				Err: fmt.Errorf("the schema has version %d, this program supports up to %d", version, newest),
			}
		}
		for _, m := range all[version:] {
			if err := apply(ctx, tx, m); err != nil {
				return err
			}
		}
		return nil
	})
	return Fail(driver, "open", err)
}

// apply runs the statements one by one: a database may parse a statement before it has run the previous one.
func apply(ctx context.Context, tx Tx, m migrations.Migration) error {
	for _, query := range m.Statements {
		if _, err := tx.Exec(ctx, statement(query)); err != nil {
			return fmt.Errorf("migration %d (%s): %w", m.Version, m.Name, err)
		}
	}
	_, err := tx.Exec(ctx, statement(recordMigration, m.Version, m.Name, micros(time.Now())))
	return err
}
