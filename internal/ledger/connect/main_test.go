// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest/pgserver"
	"github.com/nestor-dev/nestor/internal/ledger/transfer"
)

// childRole makes the test binary a process that copies a ledger, which may be killed.
const childRole = "NESTOR_TRANSFER_CHILD"

// server is nil if PostgreSQL is not installed.
var server *pgserver.Server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx := context.Background()
	if os.Getenv(childRole) != "" {
		if err := connect.Transfer(ctx, os.Args[1], os.Args[2], smallBatches()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	var err error
	server, err = pgserver.New(ctx)
	if err != nil && (!errors.Is(err, pgserver.ErrNotInstalled) || os.Getenv("CI") == "true") {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if server != nil {
		if err := server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// smallBatches prints a line for each batch.
func smallBatches() transfer.Options {
	return transfer.Options{BatchRows: 20, Report: func(p transfer.Progress) { fmt.Println(p.Table, p.Rows, p.Of, p.Verified) }}
}
