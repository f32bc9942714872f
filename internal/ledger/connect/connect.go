// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package connect opens the ledger that a connection string names. It is the one place that knows all drivers; the
// rest of the program knows package ledger alone.
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
		return opened(sqlite.Open(ctx, dsn, opts...))
	case strings.HasPrefix(dsn, postgres.Scheme), strings.HasPrefix(dsn, postgres.LongScheme):
		return opened(postgres.Open(ctx, dsn, opts...))
	}
	// The string is not repeated: who mistypes the scheme may still have typed a password.
	return nil, fmt.Errorf("open ledger: %w: the connection string must begin with sqlite: or postgres://", ledger.ErrInvalid)
}

// opened keeps a nil store from becoming a ledger that is not nil.
func opened(store *sqlstore.Store, err error) (ledger.Ledger, error) {
	if err != nil {
		return nil, err
	}
	return store, nil
}
