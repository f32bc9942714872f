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
	"time"

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
	all, err := migrations.SQLite()
	if err != nil {
		return nil, err
	}
	db, err := connect(dsn)
	if err != nil {
		return nil, err
	}
	if err := db.migrateWhenFree(ctx, all); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// migrateWhenFree migrates, and tries again while others open the file too: what changes the mode of its log is refused at once, whatever
// the busy_timeout is.
func (d *database) migrateWhenFree(ctx context.Context, all []migrations.Migration) error {
	deadline := time.Now().Add(openTimeout)
	for {
		err := d.migrate(ctx, all)
		var failure *ledger.Error
		if !errors.As(err, &failure) || failure.Reason != ledger.ReasonUnavailable || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(openRetry):
		}
	}
}

// How long an open waits for others that open the same file, and how often it looks.
const (
	openTimeout = 10 * time.Second
	openRetry   = 10 * time.Millisecond
)

// migrate needs no lock of its own: a transaction that writes excludes every other one.
func (d *database) migrate(ctx context.Context, all []migrations.Migration) error {
	return sqlstore.Migrate(ctx, d, all)
}

// connect prepares the pools; the first use of them opens the file.
func connect(dsn string) (*database, error) {
	file, err := filePath(dsn)
	if err != nil {
		return nil, err
	}
	db := &database{name: Scheme + file, path: file}
	if err := create(file); err != nil {
		return nil, sqlstore.Fail(db, "open", err)
	}
	if db.file, err = os.Stat(file); err != nil {
		return nil, sqlstore.Fail(db, "open", err)
	}
	if db.reader, err = sql.Open("sqlite", existing(file, "query_only(1)", "busy_timeout(10000)")); err != nil {
		return nil, sqlstore.Fail(db, "open", err)
	}
	db.reader.SetMaxOpenConns(maxReaders())
	db.reader.SetMaxIdleConns(maxReaders())
	pool, err := sql.Open("sqlite", existing(file, writing...))
	if err != nil {
		return nil, errors.Join(sqlstore.Fail(db, "open", err), db.reader.Close())
	}
	db.writer = newWriter(pool)
	return db, nil
}

// writing is how the connection is set up that writes. busy_timeout is first, so that the others wait for locks; auto_vacuum takes
// effect in an empty file only.
//
// A large group must fit into the cache, or its pages go to the log before it is whole and again afterwards (SQLite's own size is
// 2 MiB). A longer log is copied into the file less often, and pages that many groups change are copied once. Nothing
// that is kept in memory until the commit needs a file.
var writing = []string{
	"busy_timeout(10000)", "auto_vacuum(incremental)", "journal_mode(wal)", "synchronous(full)",
	"cache_size(-16384)", "wal_autocheckpoint(4000)", "temp_store(memory)",
}

func filePath(dsn string) (string, error) {
	file, ok := strings.CutPrefix(dsn, Scheme)
	if !ok || file == "" || strings.HasPrefix(file, ":") {
		// The string is not repeated: what is not for this driver may hold a password.
		return "", fmt.Errorf("open ledger: %w: the connection string must be sqlite:PATH with the path of a file", ledger.ErrInvalid)
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("open ledger %s: %w", dsn, err)
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
	return syncDirectory(filepath.Dir(file))
}

// syncDirectory makes the names in a directory durable: that of a new file is only when its directory is.
func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// existing is uri for a file that must be there: a connection that is opened later must not make a new file in place of one that was
// deleted.
func existing(file string, pragmas ...string) string { return uri(file, pragmas...) + "&mode=rw" }

// uri escapes the path, in which a question mark would begin the parameters.
func uri(file string, pragmas ...string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(file), RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	return u.String()
}
