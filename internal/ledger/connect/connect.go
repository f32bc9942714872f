// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package connect opens the ledger for a connection string. It is the only package that imports the drivers; all others use
// package ledger.
package connect

import (
	"context"
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/postgres"
	"github.com/nestor-dev/nestor/internal/ledger/sqlite"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// Open opens the ledger at sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE and brings its schema up to date.
func Open(ctx context.Context, dsn string, opts ...sqlstore.Option) (ledger.Ledger, error) {
	switch {
	case strings.HasPrefix(dsn, sqlite.Scheme):
		return asLedger(sqlite.Open(ctx, dsn, opts...))
	case strings.HasPrefix(dsn, postgres.Scheme), strings.HasPrefix(dsn, postgres.LongScheme):
		return asLedger(postgres.Open(ctx, dsn, opts...))
	}
	// The string is not repeated: even with a mistyped scheme it may contain a password.
	return nil, fmt.Errorf("open ledger: %w: the connection string must begin with sqlite: or postgres://", ledger.ErrInvalid)
}

// Shareable reports whether several processes on different machines can use the ledger of a connection string at the same time.
func Shareable(dsn string) bool { return !strings.HasPrefix(dsn, sqlite.Scheme) }

// asLedger prevents a nil *Store from becoming a non-nil Ledger.
func asLedger(store *sqlstore.Store, err error) (ledger.Ledger, error) {
	if err != nil {
		return nil, err
	}
	return store, nil
}
