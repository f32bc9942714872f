// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/test/bench/report"
	"github.com/nestor-dev/nestor/test/bench/scenario"
	"github.com/nestor-dev/nestor/test/stack"
)

func TestUsageErrorsAreExplained(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an argument":           {[]string{"agents-1x5"}, `unexpected argument "agents-1x5"`},
		"an unknown scenario":   {[]string{"--scenarios", "agents-7"}, "--list shows them"},
		"an unknown ledger":     {[]string{"--ledger", "MySQL"}, "--ledger must be SQLite or PostgreSQL"},
		"one report to compare": {[]string{"--compare", "a.json"}, "needs two reports"},
		"no such report":        {[]string{"--compare", "a.json", "b.json"}, "read the report"},
		"no page to render":     {[]string{"--render", "a.json"}, "--render needs --markdown"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(t.Context(), tc.args, io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v: %v, want an error with %q", tc.args, err, tc.want)
			}
		})
	}
}

func TestReportsAreComparedAndRendered(t *testing.T) {
	dir := t.TempDir()
	for name, seconds := range map[string]float64{"old": 10, "new": 5} {
		r := report.Report{Version: name, Results: []report.Result{{Name: "agents-1x5", WallSeconds: seconds}}}
		if err := r.Write(dir, name); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"--compare", filepath.Join(dir, "old.json"), filepath.Join(dir, "new.json")}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if want := "| agents-1x5 | wall, s | 10 | 5 | -50 % | better |"; !strings.Contains(out.String(), want) {
		t.Errorf("the comparison lacks %q:\n%s", want, out.String())
	}
	page := filepath.Join(dir, "performance.md")
	whole := report.Report{Version: "1a2b3c4"}
	for _, s := range scenario.All() {
		whole.Results = append(whole.Results, report.Result{Name: s.Name, WallSeconds: 1})
	}
	if err := whole.Write(dir, "new"); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"--render", filepath.Join(dir, "new.json"), "--markdown", page}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "](performance.svg)") {
		t.Errorf("the page does not show its plot (%v):\n%s", err, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "performance.svg")); err != nil {
		t.Error(err)
	}
	if err := report.CheckPage(string(text)); err != nil {
		t.Error(err)
	}
	if err := report.CheckPage(strings.Replace(string(text), "Performance", "Performances", 1)); err == nil {
		t.Error("an edited page passes")
	}
}

func TestPagesNeedWholeRuns(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "performance.md")
	for name, c := range map[string]struct {
		version, want string
		scenarios     []scenario.Scenario
	}{
		"some scenarios":      {"1a2b3c4", "lacks ", scenario.All()[1:]},
		"uncommitted changes": {"1a2b3c4-dirty", "commit first", scenario.All()},
		"no repository":       {"unknown", "commit first", scenario.All()},
	} {
		r := report.Report{Version: c.version}
		for _, s := range c.scenarios {
			r.Results = append(r.Results, report.Result{Name: s.Name})
		}
		if err := r.Write(dir, "report"); err != nil {
			t.Fatal(err)
		}
		err := run(t.Context(), []string{"--render", filepath.Join(dir, "report.json"), "--markdown", page}, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, err := os.Stat(page); err == nil {
			t.Errorf("%s: the page was written", name)
		}
	}
}

// TestPublishedPage finds edits of docs/performance.md by hand.
func TestPublishedPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := report.CheckPage(string(text)); err != nil {
		t.Error(err)
	}
}

func TestScenariosAreListed(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), []string{"--list"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"agents-1000x5", "agents-1000x20-200ms-mcp", "fanout-500-mcp", "chat-1000", "waiting-10000", "triggers-1000", "recovery-1000-mcp", "growth-finished-mcp", "bare-500-postgres", "endless-whole", "live-1000x20-2s", "live-5000-20s", "ask-latency", "delegate-latency", "cancel-depth-3", "gateway", "replicas-3", "handover-sigterm", "handover-sigkill", "limits-10m0s"} {
		if !strings.Contains(out.String(), name+" ") {
			t.Errorf("%s is not listed:\n%s", name, out.String())
		}
	}
}

func TestBareScenarioNeedsNoControlPlane(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", filepath.Join(t.TempDir(), "none"))
	var out strings.Builder
	if err := run(t.Context(), []string{"--scenarios", "endless", "--out", t.TempDir()}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if want := "one agent x 1,000 turns of 5 KB: bytes in the ledger: "; !strings.Contains(out.String(), want) {
		t.Errorf("the output lacks %q:\n%s", want, out.String())
	}
}

// TestBoundsAreMeasured checks that the API server accepts the handwritten requests of the bounds, like the
// operator's.
func TestBoundsAreMeasured(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	programs := t.TempDir()
	if err := stack.Build(t.Context(), programs); err != nil {
		t.Fatal(err)
	}
	b, err := bounds(t.Context(), programs, true, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if rows := b.Rows(); len(rows) != 7 {
		t.Errorf("not all bounds were measured: %v", rows)
	}
	alone, err := bounds(t.Context(), t.TempDir(), false, 20*time.Millisecond)
	if err != nil || alone.SQLiteRows2KB <= 0 || alone.SQLiteCommits <= 0 || len(alone.Rows()) != 2 {
		t.Errorf("without a control plane: %v (%v)", alone, err)
	}
}
