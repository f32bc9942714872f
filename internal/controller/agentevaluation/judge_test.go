// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentevaluation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/suite"
)

func judgedBy(role, revision string) *v1beta1.AgentEvaluation {
	e := evaluated("poems", 1)
	e.Spec.Judge, e.Status.JudgeRevision = role, revision
	return e
}

func taskWithUID(uid types.UID) *v1beta1.AgentTask {
	return &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "trial", UID: uid}}
}

// TestJudgeName: the name is the same after a restart, and another one if another judge or another text would be judged.
func TestJudgeName(t *testing.T) {
	first := judgeName(judgedBy("critic", "one"), taskWithUID("a"))
	if again := judgeName(judgedBy("critic", "one"), taskWithUID("a")); again != first || len(validation.IsDNS1123Label(first)) > 0 {
		t.Errorf("%s, then %s", first, again)
	}
	seen := append(namesOf(wantedTasks(judgedBy("critic", "one"))), first)
	for what, name := range map[string]string{
		"role": judgeName(judgedBy("censor", "one"), taskWithUID("a")), "revision": judgeName(judgedBy("critic", "two"), taskWithUID("a")),
		"task": judgeName(judgedBy("critic", "one"), taskWithUID("b")),
	} {
		if slices.Contains(seen, name) {
			t.Errorf("another %s has the same name", what)
		}
		seen = append(seen, name)
	}
}

func TestJudgeTask(t *testing.T) {
	e, c := judgedBy("critic", "one"), checked{question: "Judge this.", labels: []string{"internal", "untrusted"}}
	task := judgeTask(e, taskWithUID("a"), c)
	if s := task.Spec; s.Role != "critic" || s.Instruction != "Judge this." || s.Fork != nil || !slices.Equal(s.ContentLabels, []v1beta1.ContentLabel{"untrusted", "internal"}) {
		t.Errorf("%+v", task.Spec)
	}
	if task.Labels[v1beta1.LabelEvaluation] != "poems" || task.Labels[v1beta1.LabelRole] != "critic" {
		t.Errorf("%v", task.Labels)
	}
	var many []string
	for i := range maxLabels {
		many = append(many, fmt.Sprint("label-", i))
	}
	if got := judgeLabels(many); len(got) != maxLabels || got[0] != v1beta1.ContentUntrusted {
		t.Errorf("%d labels: %v", len(got), got)
	}
}

func TestJudgment(t *testing.T) {
	data := &v1beta1.TaskResult{Data: &runtime.RawExtension{Raw: []byte(`{"polite":true}`)}}
	for name, c := range map[string]struct {
		status v1beta1.AgentTaskStatus
		want   string
	}{
		"data":             {v1beta1.AgentTaskStatus{Phase: v1beta1.TaskSuccess, RoleRevision: "one", Result: data}, `{"polite":true}`},
		"another revision": {v1beta1.AgentTaskStatus{Phase: v1beta1.TaskSuccess, RoleRevision: "two", Result: data}, "The judge changed meanwhile: trial ran with the revision two."},
		"an error":         {v1beta1.AgentTaskStatus{Phase: v1beta1.TaskFailed, RoleRevision: "one", Error: &v1beta1.RunError{Kind: v1beta1.ErrorSubAgent, Message: "why"}}, "The judge has no result: SubAgentError: why"},
		"partial data":     {v1beta1.AgentTaskStatus{Phase: v1beta1.TaskFailed, RoleRevision: "one", Result: data}, "The judge has no result: trial ended with the phase Failed."},
		"no data":          {v1beta1.AgentTaskStatus{Phase: v1beta1.TaskSuccess, RoleRevision: "one", Result: &v1beta1.TaskResult{}}, "The judge has no result: trial ended with the phase Success."},
		"cancelled early":  {v1beta1.AgentTaskStatus{Phase: v1beta1.TaskCancelled}, "The judge has no result: trial ended with the phase Cancelled."},
	} {
		task := taskWithUID("a")
		task.Status = c.status
		got, problem := judgment(judgedBy("critic", "one"), task)
		if both := string(got) + problem; both != c.want {
			t.Errorf("%s: %s, want %s", name, both, c.want)
		}
	}
}

// TestSlotOf: the next step of a run follows from the tasks that exist. An earlier reconcile has read the trials.
func TestSlotOf(t *testing.T) {
	e := judgedBy("critic", "one")
	e.Spec.Cases = []v1beta1.EvaluationCase{{Name: "all", Expect: []string{"result.text != ''", "judge.polite"}}}
	compiled, err := suite.Compile(e.Spec)
	if err != nil {
		t.Fatal(err)
	}
	w := wantedTasks(e)[0]
	over := metav1.Unix(1, 0)
	fork, judge := taskWithUID("fork"), taskWithUID("judge")
	fork.Name, judge.Name = w.name, judgeName(e, fork)
	passed := suite.Trial{Outcome: suite.TrialPassed}
	var r Reconciler
	r.trials.put(types.NamespacedName{Name: "poems"}, trialKey{evaluation: e.UID, task: "fork"}, checked{trial: passed, question: "Judge this."})
	describe := func(own ...*v1beta1.AgentTask) string {
		tasks := map[string]*v1beta1.AgentTask{"old": {}}
		for _, task := range own {
			tasks[task.Name] = task
		}
		s, err := r.slotOf(t.Context(), e, w, tasks, compiled)
		if err != nil || len(tasks) != 1 {
			t.Fatalf("%v; %d tasks are left", err, len(tasks))
		}
		text := fmt.Sprintf("%d/%d", s.ended, s.tasks)
		if s.running {
			text += " running"
		}
		if s.missing != nil {
			text += " missing " + s.missing.Spec.Role
		}
		if s.trial != nil {
			text += " " + string(s.trial.Outcome)
		}
		return text
	}
	got := []string{describe(), describe(fork)}
	fork.Status.CompletionTime = &over
	got = append(got, describe(fork), describe(fork, judge))
	judge.Status.CompletionTime = &over
	r.trials.put(types.NamespacedName{Name: "poems"}, trialKey{evaluation: e.UID, task: "fork", judge: "judge"}, checked{trial: passed})
	got = append(got, describe(fork, judge))
	if want := "0/2 missing poet, 0/2 running, 1/2 missing critic, 1/2 running, 2/2 Passed"; strings.Join(got, ", ") != want {
		t.Errorf("%s; want %s", strings.Join(got, ", "), want)
	}
	if kept := len(r.trials.kept[types.NamespacedName{Name: "poems"}]); kept != 1 {
		t.Errorf("%d entries are kept", kept)
	}
	e.Spec.Cases[0].Name = "another"
	if compiled, err = suite.Compile(e.Spec); err != nil {
		t.Fatal(err)
	}
	if got := describe(); got != "0/1 missing poet" {
		t.Errorf("a case without the judge: %s", got)
	}
}
