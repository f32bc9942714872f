// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/migrations"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// Scheme and LongScheme are the prefixes of this driver's connection strings.
const (
	Scheme     = "postgres://"
	LongScheme = "postgresql://"
)

// connectTimeout bounds an attempt to connect if the connection string does not.
const connectTimeout = 5 * time.Second

// migrationLock is the key of the advisory lock that a process holds while it migrates. The number is arbitrary, but
// must be the same in every version.
const migrationLock = 7236801443

// Open opens the ledger in the database that dsn names, in the first schema of its search path.
func Open(ctx context.Context, dsn string, opts ...sqlstore.Option) (*sqlstore.Store, error) {
	steps, err := migrations.Postgres()
	if err != nil {
		return nil, err
	}
	db, err := connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	if err := db.migrate(ctx, steps); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return sqlstore.New(db, opts...), nil
}

func (d *database) migrate(ctx context.Context, steps []migrations.Migration) error {
	lock := sqlstore.Statement{SQL: "SELECT pg_advisory_xact_lock($1)", Args: []any{int64(migrationLock)}}
	return sqlstore.Migrate(ctx, d, steps, lock)
}

// connect creates the pool, which connects on first use.
func connect(ctx context.Context, dsn string) (*database, error) {
	name, secrets, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		// The text of err repeats the connection string.
		return nil, &ledger.Error{Ledger: name, Op: "open", Reason: ledger.ReasonMisconfigured,
			Err: errors.New("the host, the port or a parameter such as sslmode is not valid")}
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	setDefault(config.ConnConfig.RuntimeParams, "application_name", "nestor")
	// A server may be configured to acknowledge commits early, but Append promises durability.
	setDefault(config.ConnConfig.RuntimeParams, "synchronous_commit", "on")
	// The password may also come from the environment or a file.
	db := &database{name: name, secrets: append(secrets, config.ConnConfig.Password), idleTimeout: defaultIdleTimeout}
	if db.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, sqlstore.Fail(db, "open", err)
	}
	db.reader = stdlib.OpenDBFromPool(db.pool)
	// One connection is reserved for the writer.
	db.reader.SetMaxOpenConns(max(1, int(config.MaxConns)-1))
	return db, nil
}

func setDefault(params map[string]string, key, value string) {
	if _, ok := params[key]; !ok {
		params[key] = value
	}
}
