// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench measures Nestor on this machine: the real operator on a real control plane with the scripted model,
// each in a separate process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/test/bench/report"
	"github.com/nestor-dev/nestor/test/bench/scenario"
)

const usage = `bench measures Nestor on this machine.

  go run ./test/bench                                   all scenarios
  go run ./test/bench --scenarios 'agents-1000x5*'      some
  go run ./test/bench --render REPORT.json --markdown PAGE.md   write a page from a report
  go run ./test/bench --compare OLD.json NEW.json       compare two reports

It needs the control plane of "make control-plane", or KUBEBUILDER_ASSETS.

Flags:
`

type options struct {
	scenarios     string
	out, name     string
	markdown      string
	render        string
	ledger        string
	operatorFlags string
	timeout       time.Duration
	bounds        time.Duration
	pprof         bool
	list          bool
	compare       bool
}

func (o *options) register(set *flag.FlagSet) {
	set.StringVar(&o.scenarios, "scenarios", "", "names or globs, separated by commas or spaces (default: all)")
	set.StringVar(&o.out, "out", "dist/bench", "`directory` for the report")
	set.StringVar(&o.name, "name", "report", "base name of the report's files")
	set.StringVar(&o.markdown, "markdown", "", "also write the page to this `file`, with its plot beside it; needs all scenarios and a committed tree")
	set.StringVar(&o.render, "render", "", "do not measure: write --markdown from this report (`file`)")
	set.StringVar(&o.ledger, "ledger", "SQLite", "SQLite or PostgreSQL")
	set.StringVar(&o.operatorFlags, "operator-flags", "", "additional `flags` of the operator, separated by spaces")
	set.DurationVar(&o.timeout, "timeout", 10*time.Minute, "timeout of a scenario")
	set.DurationVar(&o.bounds, "bounds", 3*time.Second, "how long each bound of the machine is measured; 0 skips them")
	set.BoolVar(&o.pprof, "pprof", false, "save CPU and heap profiles of the operator and the API server beside the report")
	set.BoolVar(&o.list, "list", false, "list the scenarios and exit")
	set.BoolVar(&o.compare, "compare", false, "compare the two reports in the arguments")
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	ctrl.SetLogger(logr.Discard())
	var o options
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.Usage = func() {
		fmt.Fprint(stderr, usage)
		set.PrintDefaults()
	}
	o.register(set)
	if err := set.Parse(args); err != nil {
		return err
	}
	switch {
	case o.compare:
		return compare(set.Args(), stdout)
	case set.NArg() > 0:
		return fmt.Errorf("unexpected argument %q: see --help", set.Arg(0))
	case o.list:
		for _, s := range scenario.All() {
			fmt.Fprintf(stdout, "%-22s %s\n", s.Name, s.Title)
		}
		return nil
	case o.render != "":
		return render(o.render, o.markdown)
	}
	return o.measure(ctx, stdout, stderr)
}

func compare(args []string, stdout io.Writer) error {
	if len(args) != 2 {
		return errors.New("--compare needs two reports: OLD.json NEW.json")
	}
	older, err := report.Read(args[0])
	if err != nil {
		return err
	}
	newer, err := report.Read(args[1])
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, report.Compare(older, newer))
	return err
}

func render(from, page string) error {
	if page == "" {
		return errors.New("--render needs --markdown: where to write the page")
	}
	r, err := report.Read(from)
	if err != nil {
		return err
	}
	return publish(r, page)
}

// publish writes a page from a whole run on one commit: figures of different commits on one page mislead.
func publish(r *report.Report, page string) error {
	if r.Version == "unknown" || strings.HasSuffix(r.Version, "-dirty") {
		return fmt.Errorf("--markdown needs a report of a commit, and this one is of %q: commit first, then measure", r.Version)
	}
	var missing []string
	for _, s := range scenario.All() {
		if !slices.ContainsFunc(r.Results, func(result report.Result) bool { return result.Name == s.Name }) {
			missing = append(missing, s.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("--markdown needs a report of all scenarios, and this one lacks %s: the report's own page is beside it", strings.Join(missing, ", "))
	}
	return r.WritePage(page)
}
