// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/test/stack"
)

func TestChoosing(t *testing.T) {
	all, err := Choose("")
	if err != nil || len(all) != len(All()) {
		t.Errorf("nothing chosen: %d scenarios (%v)", len(all), err)
	}
	some, err := Choose("fanout-50, agents-1000x5*")
	if err != nil || len(some) != 3 || some[0].Name != "agents-1000x5" || some[1].Name != "agents-1000x5-200ms" || some[2].Name != "fanout-50" {
		t.Errorf("chose %v (%v)", some, err)
	}
	for _, wrong := range []string{"agents-7x7", "fanout-50 no-such", "["} {
		if _, err := Choose(wrong); err == nil {
			t.Errorf("%q was taken for a scenario", wrong)
		}
	}
}

func TestScenariosHaveNamesOfTheirOwnAndScriptsThatParse(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		if seen[s.Name] {
			t.Errorf("two scenarios are called %s", s.Name)
		}
		seen[s.Name] = true
		if _, err := scripted.Parse(s.Name, []byte(s.script)); err != nil {
			t.Error(err)
		}
	}
}

// TestASmallRun measures three agents on a real stack.
func TestASmallRun(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	env := Environment{Ledger: stack.SQLite, Timeout: time.Minute, Say: t.Logf}
	result := Agents(3, 2, 0).Run(t.Context(), env)
	if result.Error != "" || result.Failures != 0 {
		t.Fatalf("%s", result)
	}
	t.Log(result)
	if result.Turns != 6 || result.Created != 3 || result.CompletionMillis.Count != 3 || result.OverheadMillis.Count != 6 {
		t.Errorf("measured %d turns, %d creates, %d ends, %d overheads", result.Turns, result.Created, result.CompletionMillis.Count, result.OverheadMillis.Count)
	}
	if result.WallSeconds <= 0 || result.WallSeconds > 60 || result.OverheadMillis.P50 <= 0 || result.CompletionMillis.Max > 1000*result.WallSeconds {
		t.Errorf("the times do not fit together: %+v", result)
	}
	if n := result.Writes["POST agenttasks"]; n != 3 {
		t.Errorf("the API server counted %d creates of tasks, want 3: %v", n, result.Writes)
	}
	if result.WritesPerTurn() <= 0 || result.LedgerBytes <= 0 || result.PeakRSSBytes < 10<<20 || result.CPUSeconds["operator"] <= 0 {
		t.Errorf("something cost nothing: %+v", result)
	}
}
