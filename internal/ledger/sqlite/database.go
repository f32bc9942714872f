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

// database is one SQLite file as a driver of the store.
type database struct {
	name   string
	reader *sql.DB
	writer *writer
	// path is where the file was when it was opened, and file which one it was.
	path string
	file os.FileInfo
}

// errMissing says that the path of the ledger no longer leads to the file that is open. What is written to an unlinked file is lost when
// the process ends.
var errMissing = errors.New("the file was deleted or replaced while it was open")

// missing says whether the path no longer leads to the file that is open.
func (d *database) missing() bool {
	now, err := os.Stat(d.path)
	return errors.Is(err, fs.ErrNotExist) || (err == nil && !os.SameFile(now, d.file))
}

var _ sqlstore.Driver = (*database)(nil)

// Name implements sqlstore.Driver.
func (d *database) Name() string { return d.name }

// Reader implements sqlstore.Driver.
func (d *database) Reader() *sql.DB { return d.reader }

// Write implements sqlstore.Driver. A file that was read-only when it was opened may be writable by now, so a refusal
// counts only from a new connection.
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
		// The writer has dropped its connection. Those that read share memory with the next one, and would hand on to it
		// what the file was like when they met it.
		d.reader.SetMaxIdleConns(0)
		d.reader.SetMaxIdleConns(maxReaders())
	}
	return err
}

// maxReaders is how many queries run at a time.
func maxReaders() int { return max(4, runtime.GOMAXPROCS(0)) }

// FenceSQL implements sqlstore.Driver. A transaction that writes excludes every other one.
func (d *database) FenceSQL() string {
	return `UPDATE shards SET epoch = epoch WHERE shard = $1 AND epoch = $2`
}

// vacuumPages is how many pages one step of Vacuum moves; between two steps writers have their turn.
const vacuumPages = 256

// Vacuum implements sqlstore.Driver. It gives back the pages that Prune has emptied, and ends a log that has grown
// by copying it into the file as far as readers allow.
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

// Close implements sqlstore.Driver.
func (d *database) Close() error {
	return errors.Join(d.reader.Close(), d.writer.close())
}
