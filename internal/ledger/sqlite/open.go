// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver, in Go alone: the operator needs no C library

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/migrations"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// Scheme begins the connection strings of this driver.
const Scheme = "sqlite:"

// Open opens the ledger that the connection string sqlite:PATH names. It creates the file if it is missing, readable
// for its owner alone, but not its directory.
func Open(ctx context.Context, dsn string, opts ...sqlstore.Option) (*sqlstore.Store, error) {
	db, err := open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	return sqlstore.New(db, opts...), nil
}

// open is Open without the store on top.
func open(ctx context.Context, dsn string) (*database, error) {
	file, err := filePath(dsn)
	if err != nil {
		return nil, err
	}
	db := &database{name: Scheme + file}
	if err := create(file); err != nil {
		return nil, sqlstore.Fail(db, "open", err)
	}
	if err := db.connect(file); err != nil {
		return nil, sqlstore.Fail(db, "open", err)
	}
	all, err := migrations.SQLite()
	if err == nil {
		// A transaction that writes excludes every other one, so the migrations need no lock of their own.
		err = sqlstore.Migrate(ctx, db, all)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func filePath(dsn string) (string, error) {
	file, ok := strings.CutPrefix(dsn, Scheme)
	if !ok || file == "" || strings.HasPrefix(file, ":") {
		return "", fmt.Errorf("open ledger %q: %w: want sqlite:PATH with the path of a file", dsn, ledger.ErrInvalid)
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("open ledger %q: %w", dsn, err)
	}
	return absolute, nil
}

// create makes the file before SQLite does, because conversations are nobody else's business and SQLite would make it
// readable for all. The files beside it take its mode.
func create(file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	// The name of a new file is durable only when its directory is.
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (d *database) connect(file string) error {
	reader, err := sql.Open("sqlite", uri(file, "query_only(1)", "busy_timeout(10000)"))
	if err != nil {
		return err
	}
	reader.SetMaxOpenConns(maxReaders())
	reader.SetMaxIdleConns(maxReaders())
	// auto_vacuum takes effect in an empty file only; busy_timeout is first, so that the others wait for locks.
	writer, err := sql.Open("sqlite", uri(file, "busy_timeout(10000)", "auto_vacuum(incremental)", "journal_mode(wal)",
		"synchronous(full)"))
	if err != nil {
		return errors.Join(err, reader.Close())
	}
	d.reader, d.writer = reader, newWriter(writer)
	return nil
}

// uri escapes the path, in which a question mark would begin the parameters.
func uri(file string, pragmas ...string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(file), RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	return u.String()
}
