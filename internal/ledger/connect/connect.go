// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package connect opens the ledger for a connection string. It is the only package that imports the drivers; all
// others use package ledger.
package connect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/postgres"
	"github.com/nestor-dev/nestor/internal/ledger/sqlite"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
	"github.com/nestor-dev/nestor/internal/ledger/transfer"
)

// Open opens the ledger at sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE and brings its schema up to date. It
// refuses the target of an unfinished Transfer.
func Open(ctx context.Context, dsn string, opts ...sqlstore.Option) (ledger.Ledger, error) {
	store, err := open(ctx, dsn, opts...)
	if err != nil {
		return nil, err
	}
	if err := transfer.CheckFinished(ctx, store.Driver()); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

func open(ctx context.Context, dsn string, opts ...sqlstore.Option) (*sqlstore.Store, error) {
	switch {
	case strings.HasPrefix(dsn, sqlite.Scheme):
		return sqlite.Open(ctx, dsn, opts...)
	case strings.HasPrefix(dsn, postgres.Scheme), strings.HasPrefix(dsn, postgres.LongScheme):
		return postgres.Open(ctx, dsn, opts...)
	}
	// The string is not repeated: even with a mistyped scheme it may contain a password.
	return nil, fmt.Errorf("open ledger: %w: the connection string must begin with sqlite: or postgres://", ledger.ErrInvalid)
}

// Transfer copies the ledger at one connection string to another, and brings both schemas up to date first.
func Transfer(ctx context.Context, from, to string, o transfer.Options) (err error) {
	if file, ok := strings.CutPrefix(from, sqlite.Scheme); ok {
		if _, err := os.Stat(file); err != nil { // opening would create it
			return fmt.Errorf("open the source: %w", err)
		}
	}
	source, err := open(ctx, from)
	if err != nil {
		return fmt.Errorf("open the source: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := open(ctx, to)
	if err != nil {
		return fmt.Errorf("open the target: %w", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if source.Name() == target.Name() {
		return fmt.Errorf("%w: the source and the target are the same ledger, %s", ledger.ErrInvalid, source.Name())
	}
	return transfer.Run(ctx, source.Driver(), target.Driver(), o)
}

// Shareable reports whether several processes on different machines can use the ledger of a connection string at the
// same time.
func Shareable(dsn string) bool { return !strings.HasPrefix(dsn, sqlite.Scheme) }
