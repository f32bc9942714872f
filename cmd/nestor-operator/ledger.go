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
	"time"

	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/ledger/transfer"
	"github.com/nestor-dev/nestor/internal/program"
)

// A connection string may have a password, which everyone on the machine can read in the list of processes.
const (
	fromVariable = "NESTOR_LEDGER_FROM"
	toVariable   = "NESTOR_LEDGER_TO"
)

const migrateUsage = `nestor-operator ledger migrate copies a ledger to another database, with all histories.

  nestor-operator ledger migrate --from sqlite:PATH --to postgres://USER:PASSWORD@HOST/DATABASE
  nestor-operator ledger migrate --from postgres://USER:PASSWORD@HOST/DATABASE --to sqlite:PATH

Stop all operators first. The target must be empty. If the copy is interrupted, run the same
command again: it continues where it was, and operators refuse the target until it is complete.
At the end all rows are compared. The source keeps its content.

Flags:
`

// runLedger runs `nestor-operator ledger migrate`.
func runLedger(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 || args[0] != "migrate" {
		return errors.New("usage: nestor-operator ledger migrate --from LEDGER --to LEDGER")
	}
	set := flag.NewFlagSet("nestor-operator ledger migrate", flag.ContinueOnError)
	from := set.String("from", "", "the `ledger` to copy, as sqlite:PATH or postgres://... (default $"+fromVariable+")")
	to := set.String("to", "", "the empty `ledger` to copy it to (default $"+toVariable+")")
	set.Usage = func() {
		fmt.Fprint(stderr, migrateUsage)
		set.PrintDefaults()
	}
	if err := program.ParseCommand(set, args[1:], stderr); err != nil {
		return err
	}
	source, target := cmp.Or(*from, os.Getenv(fromVariable)), cmp.Or(*to, os.Getenv(toVariable))
	if source == "" || target == "" {
		return errors.New("--from and --to are required: see nestor-operator ledger migrate --help")
	}
	if err := connect.Transfer(ctx, source, target, transfer.Options{Report: progressPrinter(stdout)}); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "The ledger is complete. Start the operator with it, and keep the old one until you have checked the new one.")
	return nil
}

// progressPrinter prints a line a second, and the ends of tables.
func progressPrinter(out io.Writer) func(transfer.Progress) {
	var last time.Time
	return func(p transfer.Progress) {
		switch {
		case p.Verified:
			fmt.Fprintf(out, "%s: %d rows are the same in both\n", p.Table, p.Rows)
		case p.Rows == p.Of || time.Since(last) >= time.Second:
			fmt.Fprintf(out, "%s: %d of %d rows (%d %%)\n", p.Table, p.Rows, p.Of, 100*p.Rows/max(1, p.Of))
			last = time.Now()
		}
	}
}
