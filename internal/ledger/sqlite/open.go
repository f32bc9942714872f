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

	_ "modernc.org/sqlite" // pure Go: the operator needs no C library

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/migrations"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// Scheme is the prefix of this driver's connection strings.
const Scheme = "sqlite:"

// Open opens the ledger at sqlite:PATH. It creates a missing file with mode 0600, but not its directory.
func Open(ctx context.Context, dsn string, opts ...sqlstore.Option) (*sqlstore.Store, error) {
	db, err := open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	return sqlstore.New(db, opts...), nil
}

func open(ctx context.Context, dsn string) (*database, error) {
	all, err := migrations.SQLite()
	if err != nil {
		return nil, err
	}
	db, err := connect(dsn)
	if err != nil {
		return nil, err
	}
	if err := db.migrateWithRetry(ctx, all); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// migrateWithRetry migrates, and retries while other processes open the file too: changing the journal mode fails at once,
// regardless of busy_timeout.
func (d *database) migrateWithRetry(ctx context.Context, all []migrations.Migration) error {
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

// How long an open waits for other processes that open the same file, and how often it retries.
const (
	openTimeout = 10 * time.Second
	openRetry   = 10 * time.Millisecond
)

// migrate needs no lock, because write transactions exclude each other.
func (d *database) migrate(ctx context.Context, all []migrations.Migration) error {
	return sqlstore.Migrate(ctx, d, all)
}

// connect creates the pools, which open the file on first use.
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
	if db.reader, err = sql.Open("sqlite", existingURI(file, "query_only(1)", "busy_timeout(10000)")); err != nil {
		return nil, sqlstore.Fail(db, "open", err)
	}
	db.reader.SetMaxOpenConns(maxReaders())
	db.reader.SetMaxIdleConns(maxReaders())
	pool, err := sql.Open("sqlite", existingURI(file, writerPragmas...))
	if err != nil {
		return nil, errors.Join(sqlstore.Fail(db, "open", err), db.reader.Close())
	}
	db.writer = newWriter(pool)
	return db, nil
}

// writerPragmas are the pragmas of the write connection. busy_timeout is first, so that the others wait for locks; auto_vacuum
// only takes effect in an empty file.
//
// A large group must fit into the cache, or its pages are written to the log before it is complete and again afterwards (SQLite's
// default is 2 MiB). A longer log is checkpointed less often, and pages that many groups change are copied once. Temporary data
// stays in memory.
var writerPragmas = []string{
	"busy_timeout(10000)", "auto_vacuum(incremental)", "journal_mode(wal)", "synchronous(full)",
	"cache_size(-16384)", "wal_autocheckpoint(4000)", "temp_store(memory)",
}

func filePath(dsn string) (string, error) {
	file, ok := strings.CutPrefix(dsn, Scheme)
	if !ok || file == "" || strings.HasPrefix(file, ":") {
		// The string is not repeated: one for another driver may contain a password.
		return "", fmt.Errorf("open ledger: %w: the connection string must be sqlite:PATH with the path of a file", ledger.ErrInvalid)
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("open ledger %s: %w", dsn, err)
	}
	return absolute, nil
}

// create creates the file before SQLite does, because SQLite would make it readable for all users. The files next to it inherit
// its mode.
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

// syncDirectory makes a new file's entry in its directory durable.
func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// existingURI returns the URI of a file that must exist: a connection that is opened later must not create a new file instead of
// a deleted one.
func existingURI(file string, pragmas ...string) string { return uri(file, pragmas...) + "&mode=rw" }

// uri returns the URI of a file. It escapes the path, in which a question mark would start the parameters.
func uri(file string, pragmas ...string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(file), RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	return u.String()
}
