// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command nestor-operator runs Nestor's controllers.
package main

import (
	"context"
	"flag"
	"io"
	"os"
	"runtime/debug"

	"github.com/nestor-dev/nestor/internal/program"
	"github.com/nestor-dev/nestor/internal/tool/workspace/shell"
)

const usage = `nestor-operator runs Nestor's controllers against the cluster of a kubeconfig, or
of the pod it runs in.

  nestor-operator --kubeconfig ~/.kube/config

Its own namespace, which contains shared roles, providers and tool servers, comes
from the environment variable POD_NAMESPACE (default nestor-system).

  nestor-operator check

checks whether an installation works: it makes the operator run its calculator,
and reads from the history API.

  nestor-operator backup --ledger sqlite:PATH > FILE
  nestor-operator restore --ledger sqlite:PATH < FILE

back up a SQLite ledger, also while an operator runs, and restore it while none runs.

  nestor-operator ledger migrate --from LEDGER --to LEDGER

copies a ledger from SQLite to PostgreSQL, or back, while no operator runs.

Flags:
`

// gcPercent lets the heap grow by the size of the live heap, including stacks, before a collection. With a thousand active agents, 200 used
// 100 MB more and saved a few percent of the operator's CPU. GOGC and GOMEMLIMIT take precedence if they are set.
const gcPercent = 100

func main() {
	// A local workspace runs this program to supervise a command; see package shell.
	if len(os.Args) > 2 && os.Args[1] == shell.SupervisorArgument {
		os.Exit(shell.Supervise(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	program.Main("nestor-operator", run)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "check":
			return runCheck(ctx, args[1:], stdout)
		case "backup":
			return runBackup(ctx, args[1:], stdout, stderr)
		case "restore":
			return runRestore(ctx, args[1:], os.Stdin, stdout, stderr)
		case "ledger":
			return runLedger(ctx, args[1:], stdout, stderr)
		}
	}
	var o options
	set := flag.NewFlagSet("nestor-operator", flag.ContinueOnError)
	o.register(set)
	if run, err := program.Parse(set, usage, args, stdout); err != nil || !run {
		return err
	}
	return o.run(ctx, stderr)
}
