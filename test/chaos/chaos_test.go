// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger/ledgertest/pgserver"
	"github.com/nestor-dev/nestor/internal/ledger/sqlite"
	"github.com/nestor-dev/nestor/test/stack"
)

// settings configure a run; `make chaos` sets the variables.
type settings struct {
	seed     uint64
	agents   int
	duration time.Duration
	ledger   string
	programs string
	begun    time.Time
	// replicas is zero in a run with one operator.
	replicas replicaSettings
}

// latency returns how long the model takes. With replicas it takes longer, so that they reach the limit of the
// provider.
func (s settings) latency() time.Duration {
	if s.replicas.count > 0 {
		return 150 * time.Millisecond
	}
	return 30 * time.Millisecond
}

// flags returns the operators' flags. Leases are short, so that a run does not wait for long after a kill.
func (s settings) flags() []string {
	if s.replicas.count > 0 {
		return s.replicas.flags()
	}
	return replicaSettings{shards: 8, lease: replicaLease}.flags()
}

// random returns a source for one purpose. It depends on the ledger, so that the runs on the two ledgers differ.
func (s settings) random(purpose string) *rand.Rand {
	return rand.New(rand.NewPCG(s.seed, uint64(hash(s.ledger+purpose))))
}

// The short form, which is part of `make test`: few agents, and only some of the faults.
const (
	shortSeed     = 8
	shortAgents   = 20
	shortDuration = 3 * time.Second
)

func readSettings(t *testing.T, s settings) settings {
	t.Helper()
	read(t, "CHAOS_SEED", func(v string) (err error) { s.seed, err = strconv.ParseUint(v, 10, 64); return err })
	read(t, "CHAOS_AGENTS", func(v string) (err error) { s.agents, err = strconv.Atoi(v); return err })
	read(t, "CHAOS_DURATION", func(v string) (err error) { s.duration, err = time.ParseDuration(v); return err })
	return s
}

func read(t *testing.T, name string, set func(string) error) {
	t.Helper()
	if value := os.Getenv(name); value != "" {
		if err := set(value); err != nil {
			t.Fatalf("%s=%s: %v", name, value, err)
		}
	}
}

func TestInvariantsUnderFailures(t *testing.T) {
	known := []string{stack.SQLite, stack.PostgreSQL}
	ledgers := known
	if chosen := os.Getenv("CHAOS_LEDGERS"); chosen != "" {
		ledgers = strings.Split(chosen, ",")
	}
	for _, ledger := range ledgers {
		if !slices.Contains(known, ledger) {
			t.Fatalf("there is no ledger %s, only %v", ledger, known)
		}
	}
	programs := t.TempDir()
	if err := stack.Build(t.Context(), programs); err != nil {
		t.Fatal(err)
	}
	for _, ledger := range ledgers {
		t.Run(ledger, func(t *testing.T) {
			s := readSettings(t, settings{seed: shortSeed, agents: shortAgents, duration: shortDuration})
			s.ledger, s.programs, s.begun = ledger, programs, time.Now()
			t.Logf("seed %d, %d agents, failures for %s; again: make chaos SEED=%d AGENTS=%d DURATION=%s LEDGERS=%s",
				s.seed, s.agents, s.duration, s.seed, s.agents, s.duration, ledger)
			run(t, s)
		})
	}
}

func run(t *testing.T, s settings) {
	if s.ledger == stack.PostgreSQL {
		if err := installed(t.Context()); err != nil {
			skipOrFail(t, err)
		}
	}
	w := newWorld(t, s)
	t.Cleanup(func() {
		if t.Failed() {
			w.saveTraces()
		}
	})
	if err := w.faults.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := &planner{random: w.random, prefix: "w"}
	w.orders = p.plan(s.agents)
	w.firer = newFirer(w)
	for _, object := range w.firer.objects() {
		if err := w.stack.API.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var helpers sync.WaitGroup
	helpers.Go(func() { w.user.run(ctx) })
	helpers.Go(func() { w.createOrders(ctx, s.duration/2) })
	helpers.Go(func() { w.firer.run(ctx); w.fired.Store(true) })
	changing, stopChanging := context.WithCancel(ctx)
	defer stopChanging()
	var changer sync.WaitGroup
	changer.Go(func() { w.policies.run(changing) })
	if err := w.faults.run(ctx, s.duration); err != nil {
		w.failures = append(w.failures, err.Error())
		t.Fatal(err)
	}
	stopChanging()
	changer.Wait()
	if err := w.policies.end(ctx); err != nil {
		t.Fatal(err)
	}
	w.logf("all faults have ended")
	for _, name := range slices.Sorted(maps.Keys(w.faults.counts)) {
		t.Logf("%3d x %s", w.faults.counts[name], name)
	}
	for _, name := range slices.Sorted(maps.Keys(w.policies.counts)) {
		t.Logf("%3d x a policy is %s", w.policies.counts[name], name)
	}
	if err := w.stopClock(ctx); err != nil {
		t.Fatal(err)
	}
	w.check()
	stop()
	helpers.Wait()
}

// saveTraces saves what helps to debug a failure: the logs of all operators, and the goroutines of the last one.
func (w *world) saveTraces() {
	var stacks []byte
	for _, r := range w.operators() {
		words, err := profile(context.WithoutCancel(w.t.Context()), r, "goroutine?debug=2")
		if err != nil {
			words = err.Error()
		}
		stacks = append(stacks, words...)
	}
	log, err := os.ReadFile(filepath.Join(w.stack.Dir, "operator.log"))
	if err != nil {
		log = []byte(err.Error())
	}
	dir := w.t.ArtifactDir()
	w.saveLedger(dir)
	saved := map[string][]byte{"operator.log": log, "goroutines.txt": stacks}
	if w.fleet != nil {
		maps.Copy(saved, w.fleet.logs())
	}
	for name, words := range saved {
		if err := os.WriteFile(filepath.Join(dir, name), words, 0o600); err != nil {
			w.t.Error(err)
		}
	}
	w.t.Logf("see the logs, goroutines.txt and ledger.db (if it is a file) in %s (kept with -artifacts); the end of the operator's log:\n%s", dir, w.stack.OperatorLog())
	for _, broken := range w.failures { // repeat them at the end of the output
		w.t.Log(broken)
	}
}

func (w *world) operators() []*stack.Replica {
	if w.fleet == nil {
		return []*stack.Replica{w.stack.Newest()}
	}
	var all []*stack.Replica
	for _, s := range w.fleet.slots {
		all = append(all, s.running)
	}
	return all
}

// saveLedger copies the file of a SQLite ledger.
func (w *world) saveLedger(dir string) {
	if w.settings.ledger != stack.SQLite {
		return
	}
	kept, err := os.Create(filepath.Join(dir, "ledger.db"))
	if err == nil {
		err = errors.Join(sqlite.Backup(context.WithoutCancel(w.t.Context()), w.stack.LedgerURL, kept), kept.Close())
	}
	if err != nil {
		w.t.Error(err)
	}
}

// createOrders creates all orders over some time, and retries when the API server refuses.
func (w *world) createOrders(ctx context.Context, over time.Duration) {
	for _, o := range w.orders {
		if o.fired {
			continue // a trigger creates it
		}
		for w.createOrder(ctx, o) != nil && ctx.Err() == nil {
			pause(ctx, 100*time.Millisecond)
		}
		pause(ctx, over/time.Duration(len(w.orders)))
	}
	w.created.Store(true)
}

// installed returns an error if there is no PostgreSQL server.
func installed(ctx context.Context) error {
	server, err := pgserver.New(ctx)
	if err != nil {
		return err
	}
	return server.Close()
}

func skipOrFail(t *testing.T, err error) {
	if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	t.Fatal(err)
}

func (w *world) logf(format string, args ...any) {
	w.t.Helper()
	w.t.Logf("%6.2fs "+format, append([]any{time.Since(w.settings.begun).Seconds()}, args...)...)
}
