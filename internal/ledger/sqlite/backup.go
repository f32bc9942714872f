// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Backup writes a consistent copy of the ledger, also while an operator is using it. The copy is first made next to the file, so
// there must be space for it.
func Backup(ctx context.Context, dsn string, to io.Writer) (err error) {
	file, err := filePath(dsn)
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("back up the ledger: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(file), "backup-")
	if err != nil {
		return fmt.Errorf("back up the ledger: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	whole := filepath.Join(dir, filepath.Base(file))
	if err := execute(ctx, file, "VACUUM INTO ?", whole); err != nil {
		return fmt.Errorf("back up the ledger: %w", err)
	}
	from, err := os.Open(whole)
	if err != nil {
		return fmt.Errorf("back up the ledger: %w", err)
	}
	if _, err := io.Copy(to, from); err != nil {
		return errors.Join(fmt.Errorf("write the copy of the ledger: %w", err), from.Close())
	}
	return from.Close()
}

// Restore writes a copy to a path without a ledger. It refuses incomplete or damaged copies.
func Restore(ctx context.Context, dsn string, from io.Reader) (err error) {
	file, err := filePath(dsn)
	if err != nil {
		return err
	}
	for _, part := range []string{file, file + "-wal"} {
		if _, err := os.Stat(part); err == nil {
			return fmt.Errorf("restore the ledger: %w: there is one at %s already; stop the operator and move it away first, with the files -wal and -shm beside it", ledger.ErrInvalid, file)
		}
	}
	dir, err := os.MkdirTemp(filepath.Dir(file), "restore-")
	if err != nil {
		return fmt.Errorf("restore the ledger: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	whole := filepath.Join(dir, filepath.Base(file))
	if err := writeSynced(whole, from); err != nil {
		return fmt.Errorf("restore the ledger: %w", err)
	}
	if err := checkLedger(ctx, whole); err != nil {
		return fmt.Errorf("restore the ledger: %w: the input is not a complete copy of a ledger: %w", ledger.ErrInvalid, err)
	}
	if err := os.Rename(whole, file); err != nil {
		return fmt.Errorf("restore the ledger: %w", err)
	}
	return syncDirectory(filepath.Dir(file))
}

// writeSynced writes a file with mode 0600 and syncs it to disk.
func writeSynced(path string, from io.Reader) error {
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return errors.Join(err, to.Close())
	}
	return errors.Join(to.Sync(), to.Close())
}

// checkLedger returns an error if the file is damaged or not a ledger.
func checkLedger(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", uri(file, "query_only(1)"))
	if err != nil {
		return err
	}
	var result string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&result); err != nil {
		return errors.Join(err, db.Close())
	}
	if result != "ok" {
		return errors.Join(errors.New(result), db.Close())
	}
	var migrations int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM schema_migrations").Scan(&migrations); err != nil {
		return errors.Join(err, db.Close())
	}
	return db.Close()
}

func execute(ctx context.Context, file, statement string, args ...any) error {
	db, err := sql.Open("sqlite", uri(file, "busy_timeout(10000)"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement, args...)
	return errors.Join(err, db.Close())
}
