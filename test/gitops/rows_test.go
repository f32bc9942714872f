// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/conditions"
)

// verdicts are what kstatus, Flux and Argo CD show for a group of reasons: for kinds with the condition Ready, and for runs and messages,
// which have Succeeded. kstatus does not evaluate Succeeded.
var verdicts = map[string]struct{ standing, run string }{
	"Fine":             {"Current/Current/Healthy", "Current/Current/Healthy"},
	"Suspended":        {"Current/Current/Suspended", ""},
	"Waiting":          {"", "Current/InProgress/Progressing"},
	"Active":           {"InProgress/InProgress/Progressing", "Current/InProgress/Progressing"},
	"Person":           {"", "Current/InProgress/Suspended"},
	"Paused":           {"Current/Current/Suspended", ""},
	"Retry":            {"InProgress/InProgress/Progressing", "InProgress/InProgress/Progressing"},
	"Quota":            {"InProgress/InProgress/Progressing", "Current/InProgress/Progressing"},
	"UsedUp":           {"Current/Current/Healthy", ""},
	"MissingReference": {"Failed/Failed/Degraded", "Failed/Failed/Degraded"},
	"Invalid":          {"Failed/Failed/Degraded", "Failed/Failed/Degraded"},
	"Outage":           {"InProgress/InProgress/Degraded", "Current/InProgress/Degraded"},
	"Withheld":         {"Current/Current/Degraded", ""},
	"Lost":             {"Current/Current/Healthy", "Current/InProgress/Progressing"},
	"InvalidRun":       {"", "Failed/Failed/Degraded"},
	"Ended":            {"", "Current/Failed/Degraded"},
	"Rejected":         {"", "Current/Failed/Degraded"},
}

// TestEveryRow_VerdictOfTheTools builds an object for every state of every kind in the table, and compares what the tools show.
func TestEveryRow_VerdictOfTheTools(t *testing.T) {
	var objects bytes.Buffer
	want := map[string]string{}
	for _, r := range rows(t) {
		for _, on := range slices.Sorted(maps.Keys(r.States)) {
			name, status, _ := strings.Cut(on, "=")
			group := r.Group
			if other := r.StateGroups[on]; other != "" {
				group = other
			}
			for _, kind := range r.States[on] {
				c := metav1.Condition{Type: name, Status: metav1.ConditionStatus(status), Reason: r.Reason, Message: "why", ObservedGeneration: 1}
				main := mainCondition(kind)
				all := conditions.Set(nil, kind, main, metav1.Now())
				object := makeObject(t, kind, r.Reason+status, "{}")
				object.SetGeneration(1)
				object.Object["status"] = map[string]any{"observedGeneration": int64(1), "conditions": conditions.Set(all, kind, c, metav1.Now())}
				writeObject(t, &objects, object)
				expected := verdicts[group].standing
				if main.Type == v1beta1.ConditionSucceeded {
					expected = verdicts[group].run
				}
				want[kind+" "+r.Reason+status] = strings.ReplaceAll(expected, "/", " ")
			}
		}
	}
	got := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(toolReport(t, &objects)), "\n")[1:] {
		fields := strings.Fields(line)
		got[fields[0]+" "+fields[1]] = strings.Join(fields[2:], " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts of kstatus, Flux and Argo CD (-want +got):\n%s", diff)
	}
}

// row is what the test reads of the table.
type row struct {
	Reason      string
	Group       string
	States      map[string][]string
	StateGroups map[string]string
}

func rows(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "api", "v1beta1", "conditions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var table struct{ Reasons []row }
	if err := yaml.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Reasons) < 50 {
		t.Fatalf("the table has only %d reasons", len(table.Reasons))
	}
	return table.Reasons
}

// mainCondition returns the condition of an object of a kind about which nothing is to report.
func mainCondition(kind string) metav1.Condition {
	switch kind {
	case "AgentTask", "SubAgent", "AgentMessage":
		return metav1.Condition{Type: v1beta1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: v1beta1.ReasonRunning, ObservedGeneration: 1}
	}
	return metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonReady, ObservedGeneration: 1}
}
