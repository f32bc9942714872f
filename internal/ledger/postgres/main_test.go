// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest/pgserver"
)

// server is shared by all tests of the package, each with its own database; nil if none is installed.
var server *pgserver.Server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	server, err = pgserver.New(context.Background())
	if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("CI") != "true" {
		return m.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func newDatabase(t testing.TB) ledgertest.Database {
	t.Helper()
	if server == nil {
		t.Skip(pgserver.ErrNotInstalled)
	}
	return ledgertest.Postgres(t, server)
}

func TestConformance(t *testing.T) { ledgertest.Run(t, newDatabase) }
