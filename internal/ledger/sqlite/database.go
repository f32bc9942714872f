// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"runtime"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// database implements sqlstore.Driver for a SQLite file.
type database struct {
	name   string
	reader *sql.DB
	writer *writer
	// path is the path of the file, and file identifies the file that was opened.
	path string
	file os.FileInfo
}

// errMissing: the path no longer leads to the open file. Writes to an unlinked file are lost when the process ends.
var errMissing = errors.New("the file was deleted or replaced while it was open")

// missing reports whether the path no longer leads to the open file.
func (d *database) missing() bool {
	now, err := os.Stat(d.path)
	return errors.Is(err, fs.ErrNotExist) || (err == nil && !os.SameFile(now, d.file))
}

var _ sqlstore.Driver = (*database)(nil)

func (d *database) Name() string { return d.name }

func (d *database) Reader() *sql.DB { return d.reader }

// Write implements sqlstore.Driver. A file that was read-only when it was opened may be writable now, so a failure is retried
// once on a new connection.
func (d *database) Write(ctx context.Context, fn func(sqlstore.Tx) error) error {
	if d.missing() {
		return errMissing
	}
	err := d.write(ctx, fn)
	if err != nil && classify(err) == ledger.ReasonReadOnly {
		err = d.write(ctx, fn)
	}
	return err
}

func (d *database) write(ctx context.Context, fn func(sqlstore.Tx) error) error {
	err := d.writer.transaction(ctx, fn)
	if isFileFailure(err) {
		// The writer has dropped its connection. Idle readers share memory with the next one and would pass on the outdated state
		// of the file.
		d.reader.SetMaxIdleConns(0)
		d.reader.SetMaxIdleConns(maxReaders())
	}
	return err
}

// maxReaders returns the maximum number of concurrent queries.
func maxReaders() int { return max(4, runtime.GOMAXPROCS(0)) }

// ShareLock implements sqlstore.Driver. Write transactions exclude each other.
func (d *database) ShareLock() string { return "" }

// LockSQL implements sqlstore.Driver. Write transactions exclude each other.
func (d *database) LockSQL() string { return "" }

// Clock implements sqlstore.Driver. It is the clock of the process, in milliseconds.
func (d *database) Clock() string { return "CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER) * 1000" }

// vacuumPages is the number of pages per step of Vacuum; other writers run between steps.
const vacuumPages = 256

// Vacuum implements sqlstore.Driver. It frees the pages that Prune has emptied, and checkpoints the write-ahead log as far as
// readers allow.
func (d *database) Vacuum(ctx context.Context) error {
	for {
		before, after, err := d.writer.vacuum(ctx, vacuumPages)
		if err != nil {
			return err
		}
		if after == 0 || after >= before {
			return d.writer.checkpoint(ctx)
		}
	}
}

func (d *database) Close() error {
	return errors.Join(d.reader.Close(), d.writer.close())
}
