// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentevaluation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/suite"
)

func evaluated(name string, runs int) *v1beta1.AgentEvaluation {
	e := &v1beta1.AgentEvaluation{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u"}}
	e.Spec = v1beta1.AgentEvaluationSpec{Role: "poet", Repeats: ptr.To[int32](2), ToolResults: v1beta1.EvaluationRecorded}
	e.Status = v1beta1.AgentEvaluationStatus{CandidateRevision: "two", BaselineRevision: "one"}
	for i := range runs {
		e.Status.Runs = append(e.Status.Runs, v1beta1.EvaluatedRun{Case: "all", Task: fmt.Sprint("t", i), UID: fmt.Sprint("u", i)})
	}
	return e
}

func namesOf(all []wanted) []string {
	var names []string
	for _, w := range all {
		names = append(names, w.name)
	}
	return names
}

// TestWantedTasks: names are the same after a restart, and others as soon as anything that decides about a run differs.
func TestWantedTasks(t *testing.T) {
	e := evaluated(strings.Repeat("long-name-", 6)+"abc", 3)
	names := namesOf(wantedTasks(e))
	if len(names) != 12 || !slices.Equal(names, namesOf(wantedTasks(e.DeepCopy()))) {
		t.Fatalf("%d names: %v", len(names), names)
	}
	seen := map[string]bool{}
	for _, name := range names {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 || seen[name] {
			t.Errorf("%s: %v, seen before: %t", name, problems, seen[name])
		}
		seen[name] = true
	}
	for what, change := range map[string]func(*v1beta1.AgentEvaluation){
		"candidate": func(e *v1beta1.AgentEvaluation) { e.Status.CandidateRevision = "three" },
		"baseline":  func(e *v1beta1.AgentEvaluation) { e.Status.BaselineRevision = "zero" },
		"results":   func(e *v1beta1.AgentEvaluation) { e.Spec.ToolResults = v1beta1.EvaluationReadOnly },
		"object":    func(e *v1beta1.AgentEvaluation) { e.UID = "v" },
	} {
		other := e.DeepCopy()
		change(other)
		for _, name := range namesOf(wantedTasks(other)) {
			if seen[name] {
				t.Errorf("another %s has the task %s too", what, name)
			}
		}
	}
	if e.Status.CandidateRevision = ""; len(wantedTasks(e)) > 0 {
		t.Error("without a candidate there are tasks")
	}
}

func TestCasesOf(t *testing.T) {
	var slots []slot
	for _, w := range wantedTasks(evaluated("poems", 3)) {
		slots = append(slots, slot{wanted: w, trial: &suite.Trial{Task: w.lane + " " + w.run.Task}})
	}
	for i, c := range casesOf(slots) {
		task := fmt.Sprint("t", i)
		if c.Task != task || len(c.Baseline) != 2 || len(c.Candidate) != 2 || c.Baseline[1].Task != "baseline "+task || c.Candidate[1].Task != "candidate "+task {
			t.Errorf("case %d: %+v", i, c)
		}
	}
}

func TestTasksOf(t *testing.T) {
	ended := func(name, role string, at int64) v1beta1.AgentTask {
		task := v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"suite": "a"}}}
		task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: role}
		task.Status.CompletionTime = ptr.To(metav1.Unix(at, 0))
		return task
	}
	all := []v1beta1.AgentTask{
		ended("old", "poet", 1), ended("new", "poet", 2), ended("other", "coder", 3), ended("running", "poet", 4), ended("fork", "poet", 5), ended("tool", "poet", 6), ended("unlabelled", "poet", 7),
	}
	all[3].Status.CompletionTime, all[4].Spec.Fork, all[5].Spec.Type, all[6].Labels = nil, &v1beta1.TaskFork{}, v1beta1.TaskTool, nil
	for name, c := range map[string]struct {
		of   v1beta1.EvaluationCase
		want string
	}{
		"a selector":                {v1beta1.EvaluationCase{Name: "x", TaskSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"suite": "a"}}}, "new old"},
		"a UID, of any role":        {v1beta1.EvaluationCase{Name: "x", TaskUID: "uid-other"}, "other"},
		"a task that runs":          {v1beta1.EvaluationCase{Name: "x", TaskUID: "uid-running"}, "x (no AgentTask that has ended has the UID uid-running)"},
		"a selector of nothing":     {v1beta1.EvaluationCase{Name: "x", TaskSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"suite": "b"}}}, "x (no AgentTask of the role that has ended has these labels)"},
		"a selector that is broken": {v1beta1.EvaluationCase{Name: "x", TaskSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}}, "the selector of x is invalid"},
	} {
		tasks, got := tasksOf(c.of, "poet", all)
		var names []string
		for _, task := range tasks {
			names = append(names, task.Name)
		}
		if got += strings.Join(names, " "); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCandidateOf(t *testing.T) {
	for name, c := range map[string]struct {
		status v1beta1.AgentRoleStatus
		want   string
	}{
		"a candidate":         {v1beta1.AgentRoleStatus{ObservedGeneration: 2, CurrentRevision: "b", PromotedRevision: "a"}, "b a"},
		"the promoted one":    {v1beta1.AgentRoleStatus{ObservedGeneration: 2, CurrentRevision: "a", PromotedRevision: "a"}, " "},
		"one rolled back":     {v1beta1.AgentRoleStatus{ObservedGeneration: 2, CurrentRevision: "b", PromotedRevision: "a", RejectedRevision: "b"}, " "},
		"one not observed":    {v1beta1.AgentRoleStatus{ObservedGeneration: 1, CurrentRevision: "b", PromotedRevision: "a"}, " "},
		"nothing is promoted": {v1beta1.AgentRoleStatus{ObservedGeneration: 2, CurrentRevision: "b"}, " "},
	} {
		candidate, baseline := candidateOf(&v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: c.status})
		if got := candidate + " " + baseline; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestPins: a pin is renewed daily, and at once for other runs or another object.
func TestPins(t *testing.T) {
	var p pins
	name, start := types.NamespacedName{Name: "poems"}, time.Unix(1_000_000, 0)
	first := pinned{"u", 1, start}
	if due, again := p.due(name, first); !due || again != pinRenewal {
		t.Errorf("the first pin: %t, %s", due, again)
	}
	p.put(name, first)
	for what, c := range map[string]struct {
		now  pinned
		want bool
	}{
		"an hour later": {pinned{"u", 1, start.Add(time.Hour)}, false}, "a day later": {pinned{"u", 1, start.Add(pinRenewal)}, true},
		"other runs": {pinned{"u", 2, start.Add(time.Hour)}, true}, "another object": {pinned{"v", 1, start.Add(time.Hour)}, true},
	} {
		if due, again := p.due(name, c.now); due != c.want || again <= 0 {
			t.Errorf("%s: %t, %s", what, due, again)
		}
	}
	if p.forget(name); len(p.made) > 0 {
		t.Error("a deleted evaluation is remembered")
	}
}
