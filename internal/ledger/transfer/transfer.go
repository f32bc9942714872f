// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"fmt"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// Options are the options of Run.
type Options struct {
	// BatchRows is the maximum number of rows in a transaction. The default is 500.
	BatchRows int
	// Report is called after each batch, and for each table that was verified.
	Report func(Progress)
}

// Progress is how far the transfer of a table is.
type Progress struct {
	Table    string
	Rows, Of int64
	// Verified reports that the rows in the target were compared with those in the source.
	Verified bool
}

const defaultBatchRows = 500

// Run copies all histories from one ledger to another. The target must be empty, or have a part of the same source.
func Run(ctx context.Context, from, to sqlstore.Driver, o Options) error {
	if o.BatchRows <= 0 {
		o.BatchRows = defaultBatchRows
	}
	if o.Report == nil {
		o.Report = func(Progress) {}
	}
	source, err := readTables(ctx, from)
	if err != nil {
		return err
	}
	target, err := readTables(ctx, to)
	if err != nil {
		return err
	}
	if _, ok := source[progressTable]; ok {
		return unfinished(from)
	}
	if err := checkUnowned(ctx, from); err != nil {
		return err
	}
	pairs, err := match(source, target)
	if err != nil {
		return err
	}
	progress, err := begin(ctx, from, to, target, pairs)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		if err := copyTable(ctx, from, to, p, progress[p.to.name], o); err != nil {
			return err
		}
	}
	if err := copyCounter(ctx, from, to); err != nil {
		return err
	}
	if err := verify(ctx, from, to, pairs, o); err != nil {
		return err
	}
	// An operator that started meanwhile may have written something after its table was compared.
	if err := checkUnowned(ctx, from); err != nil {
		return err
	}
	return sqlstore.Fail(to, "finish", to.Write(ctx, func(tx sqlstore.Tx) error {
		_, err := tx.Exec(ctx, sqlstore.Statement{SQL: "DROP TABLE " + progressTable})
		return err
	}))
}

// copyTable copies the rest of a table.
func copyTable(ctx context.Context, from, to sqlstore.Driver, p pair, at place, o Options) error {
	total, err := count(ctx, from, p.from.name)
	if err != nil {
		return err
	}
	insert, columns := p.to.insert(to.Dialect()), p.to.columns()
	for {
		batch, err := p.from.read(ctx, from, at.key, o.BatchRows)
		if err != nil || len(batch) == 0 {
			return err
		}
		next := place{key: p.from.keyOf(batch[len(batch)-1]), rows: at.rows + int64(len(batch))}
		move, err := at.move(p.to.name, next)
		if err != nil {
			return err
		}
		statements := []sqlstore.Statement{move}
		for _, r := range batch {
			args := make([]any, len(r))
			for i, value := range r {
				args[i] = argument(value, p.to.types[columns[i]])
			}
			statements = append(statements, sqlstore.Statement{SQL: insert, Args: args})
		}
		err = to.Write(ctx, func(tx sqlstore.Tx) error {
			changed, err := tx.Exec(ctx, statements...)
			if err == nil && changed[0] != 1 {
				err = fmt.Errorf("%w: another process copies to this ledger too", ledger.ErrInvalid)
			}
			return err
		})
		if err != nil {
			return sqlstore.Fail(to, "write "+p.to.name, err)
		}
		at = next
		o.Report(Progress{Table: p.to.name, Rows: at.rows, Of: total})
	}
}

// copyCounter copies the last number of an agent. Numbers are never used again, even if their agents were deleted.
func copyCounter(ctx context.Context, from, to sqlstore.Driver) error {
	var last int64
	if err := from.Reader().QueryRowContext(ctx, from.Dialect().ReadCounter).Scan(&last); err != nil {
		return sqlstore.Fail(from, "read the counter of agents", err)
	}
	var statements []sqlstore.Statement
	for _, query := range to.Dialect().SetCounter {
		statements = append(statements, sqlstore.Statement{SQL: query})
	}
	statements[len(statements)-1].Args = []any{last}
	return sqlstore.Fail(to, "set the counter of agents", to.Write(ctx, func(tx sqlstore.Tx) error {
		_, err := tx.Exec(ctx, statements...)
		return err
	}))
}

// verify compares all rows of both ledgers.
func verify(ctx context.Context, from, to sqlstore.Driver, pairs []pair, o Options) error {
	for _, p := range pairs {
		want, err := p.from.sumOf(ctx, from, o.BatchRows)
		if err != nil {
			return err
		}
		got, err := p.to.sumOf(ctx, to, o.BatchRows)
		if err != nil {
			return err
		}
		if got.rows != want.rows {
			return fmt.Errorf("verify %s: %d rows were copied, and the source has %d: %w", p.to.name, got.rows, want.rows, errDiffers)
		}
		if got != want {
			return fmt.Errorf("verify %s: its %d rows differ from those of the source: %w", p.to.name, got.rows, errDiffers)
		}
		o.Report(Progress{Table: p.to.name, Rows: got.rows, Of: want.rows, Verified: true})
	}
	return nil
}

var errDiffers = errors.New("the source was changed while it was copied: stop its operators, empty the target and start again")
