// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/nestor-dev/nestor/internal/ledger/sqlite"
	"github.com/nestor-dev/nestor/internal/program"
)

// errNotSQLite names the tools that back up other ledgers.
var errNotSQLite = errors.New("only a SQLite ledger (--ledger sqlite:PATH) is copied by this program: " +
	"use pg_dump and psql for PostgreSQL")

// runBackup runs `nestor-operator backup`: it writes a copy of the ledger, and nothing else, to standard output.
func runBackup(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	ledger, err := parseLedgerFlag("backup", args, stderr)
	if err != nil {
		return err
	}
	return sqlite.Backup(ctx, ledger, stdout)
}

// runRestore runs `nestor-operator restore`: it reads a copy of the ledger from standard input.
func runRestore(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	ledger, err := parseLedgerFlag("restore", args, stderr)
	if err != nil {
		return err
	}
	if err := sqlite.Restore(ctx, ledger, stdin); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "The ledger is restored.")
	return nil
}

// parseLedgerFlag parses the flags of backup or restore, and returns the ledger to copy.
func parseLedgerFlag(command string, args []string, stderr io.Writer) (string, error) {
	set := flag.NewFlagSet("nestor-operator "+command, flag.ContinueOnError)
	fromFlag := set.String("ledger", "", "the ledger, as sqlite:PATH (default $"+ledgerVariable+")")
	if err := program.ParseCommand(set, args, stderr); err != nil {
		return "", err
	}
	ledger := cmp.Or(*fromFlag, os.Getenv(ledgerVariable))
	if !strings.HasPrefix(ledger, sqlite.Scheme) {
		return "", errNotSQLite
	}
	return ledger, nil
}
