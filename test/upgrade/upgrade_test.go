// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/test/stack"
)

var fixtureFiles = map[string]string{stack.SQLite: "sqlite.json.gz", stack.PostgreSQL: "postgres.json.gz"}

// overlaps reports whether the older operators keep running while the newer one starts, as in a rolling update.
func overlaps() bool { return os.Getenv("UPGRADE_STOP") == "LATER" }

// runOlder runs an older operator up to the state middle, and stops it. With overlaps there are two, which keep running.
func runOlder(ctx context.Context, t *testing.T, o older, programs, ledger string) *environment {
	t.Helper()
	w := newEnvironment(ctx, t, ledger, programs, true)
	install(ctx, t, w, o.dir)
	if err := w.StartOperator(ctx); err != nil {
		t.Fatal(err)
	}
	w.apply(ctx, t, initialObjects, "MODEL", w.model.URL, "DESK", w.desk.URL)
	w.await(ctx, t, expectedAtStop, func() bool { return w.model.holds() && slices.Contains(w.desk.done(), "sign hang") })
	stop := w.Operator.Kill
	switch {
	case os.Getenv("UPGRADE_STOP") == "TERM":
		stop = func() error { return w.Operator.Terminate(ctx) }
	case overlaps():
		w.keepRunning(t)
		stop = func() error { return nil }
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	return w
}

// keepRunning starts a second operator of the older release, which stands by, and kills both at the end.
func (w *environment) keepRunning(t *testing.T) {
	t.Helper()
	second, err := w.LaunchRival()
	if err != nil {
		t.Fatal(err)
	}
	for _, older := range []*stack.Process{w.Operator, second} {
		t.Cleanup(func() {
			if err := older.Kill(); err != nil {
				t.Error(err)
			}
		})
	}
}

// expectDone checks the tool calls over both operators.
func expectDone(t *testing.T, before, after []string) {
	t.Helper()
	did := slices.Sorted(slices.Values(slices.Concat(before, after)))
	if diff := cmp.Diff([]string{"look think", "sign approve", "sign hang"}, did); diff != "" {
		t.Errorf("tool calls, each exactly once (-want +got):\n%s", diff)
	}
}

// TestFixtureIsCompleted checks that the work of an older operator is completed, without losing or repeating anything.
func TestFixtureIsCompleted(t *testing.T) {
	commits, err := filepath.Glob(filepath.Join("testdata", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(commits) == 0 {
		t.Skip("the first fixture is the one of 0.1.0: older ledgers are refused")
	}
	programs := t.TempDir()
	if err := stack.Build(t.Context(), programs); err != nil {
		t.Fatal(err)
	}
	for _, dir := range commits {
		for ledger, file := range fixtureFiles {
			t.Run(filepath.Base(dir)+" "+ledger, func(t *testing.T) {
				ctx := t.Context()
				w := newEnvironment(ctx, t, ledger, programs, false)
				f := w.readFixture(t, filepath.Join(dir, file))
				w.restore(ctx, t, ledger, f)
				before := w.history(ctx, t)
				if err := w.StartOperator(ctx); err != nil {
					t.Fatal(err)
				}
				w.finish(ctx, t, f.Calls)
				w.expectKept(ctx, t, before)
				expectDone(t, []string{"look think", "sign hang"}, w.desk.done())
			})
		}
	}
}

// TestLiveUpgrade does the same with the operator and the CRDs of an earlier commit, from git.
func TestLiveUpgrade(t *testing.T) {
	from := os.Getenv("UPGRADE_FROM")
	if from == "" || os.Getenv("UPGRADE_WRITE") != "" {
		t.Skip("make upgrade runs this with the operator of an earlier commit, UPGRADE_FROM")
	}
	o := checkOut(t.Context(), t, from)
	programs, newer := o.build(t.Context(), t), t.TempDir()
	if err := stack.Build(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	for ledger := range fixtureFiles {
		if overlaps() && ledger == stack.SQLite {
			continue // it has one replica, which is stopped before the next one starts
		}
		t.Run(ledger, func(t *testing.T) {
			ctx := t.Context()
			w := runOlder(ctx, t, o, programs, ledger)
			calls, before := w.model.calls(), w.history(ctx, t)
			w.model.resetCalls()
			install(ctx, t, w, root)
			w.UsePrograms(newer)
			if err := w.StartOperator(ctx); err != nil {
				t.Fatal(err)
			}
			w.finish(ctx, t, calls)
			w.expectKept(ctx, t, before)
			expectDone(t, nil, w.desk.done())
		})
	}
}

// TestWriteFixture is run by make upgrade-fixture.
func TestWriteFixture(t *testing.T) {
	from := os.Getenv("UPGRADE_FROM")
	if from == "" || os.Getenv("UPGRADE_WRITE") == "" {
		t.Skip("make upgrade-fixture writes fixtures")
	}
	o := checkOut(t.Context(), t, from)
	programs := o.build(t.Context(), t)
	for ledger, file := range fixtureFiles {
		t.Run(ledger, func(t *testing.T) {
			began := time.Now()
			w := runOlder(t.Context(), t, o, programs, ledger)
			w.capture(t.Context(), t, ledger, o.commit, began).write(t, filepath.Join("testdata", o.commit[:12], file))
		})
	}
}
