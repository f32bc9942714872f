// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package gitops_test checks that GitOps tools report the health of Nestor's objects: objects that the operator has judged are shown to
// kstatus, to Flux with the expressions of config/gitops/flux, and to the health check of config/gitops/argocd in the interpreter
// of Lua that Argo CD has; Argo CD itself does not run.
package gitops_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/patience"
	"github.com/nestor-dev/nestor/test/stack"
	"github.com/nestor-dev/nestor/test/world"
)

var update = flag.Bool("update", false, "rewrite the golden file")

const namespace = "default"

// wanted are objects with the status and reason of their condition.
var wanted = []struct{ kind, name, spec, verdict string }{
	{"ModelProvider", "unreachable", "baseURL: http://127.0.0.1:1/v1", "False Unreachable"},
	{"AgentRole", "helper", "systemPrompt: You help.", "True Ready"},
	{"AgentRole", "lonely", "{systemPrompt: You help., delegation: {roles: [nobody]}}", "False RoleNotFound"},
	{"AgentRole", "gated", "{systemPrompt: You help., promotion: {mode: Gated, evaluation: none}}", "True EvaluationNotFound"},
	{"ToolServer", "silent", "url: http://127.0.0.1:1/mcp", "False Unreachable"},
	{"AgentQuota", "daily", "{period: Day, maxTokens: 1000000000}", "True Ready"},
	{"ToolPolicy", "careful", "{rules: [{name: writes, allowWhen: call.readOnly}]}", "True Ready"},
	{"ToolPolicy", "misspelt", "{match: {tools: [nothing]}, rules: [{name: writes, allowWhen: call.readonly}]}", "False InvalidExpression"},
	{"AgentEvaluation", "suite", "{role: gated, cases: [{name: one, taskSelector: {matchLabels: {suite: none}}}]}", "False CasesNotFound"},
	{"AgentTrigger", "morning", "{schedule: {cron: '0 7 * * *'}, task: {role: helper, instruction: Begin}}", "True Ready"},
	{"AgentChat", "talk", "{}", "True Ready"},
	{"AgentChat", "stuck", "{role: nobody}", "False RoleNotFound"},
	{"AgentMessage", "hello", "{chat: talk, content: Load}", "True Handled"},
	{"AgentMessage", "late", "{chat: talk, user: " + stack.Admin + ", cancel: {task: gone}}", "False TaskNotFound"},
	{"AgentMessage", "early", "{chat: tomorrow, content: Load}", "Unknown ChatNotFound"},
	{"AgentTask", "sum", "{type: Tool, tool: calculator, arguments: {expression: 6*7}}", "True Success"},
	{"AgentTask", "nonsense", "{type: Tool, tool: calculator, arguments: {}}", "False ToolError"},
	{"AgentTask", "waiting", "{type: Agent, role: nobody, instruction: Load step 1}", "Unknown RoleNotFound"},
	{"AgentTask", "curious", "{type: Agent, role: general, instruction: Ask me}", "Unknown WaitingForUser"},
	{"SubAgent", "curious", "", "Unknown WaitingForUser"},
}

func TestGitOpsObjectHealth(t *testing.T) {
	s := world.Start(t, stack.Options{Scripts: []string{filepath.Join("testdata", "curious.yaml"), "builtin:load"}})
	if err := s.Provider(t.Context(), namespace, "default"); err != nil {
		t.Fatal(err)
	}
	var judged bytes.Buffer
	for _, w := range wanted {
		object := makeObject(t, w.kind, w.name, w.spec)
		if w.spec == "" {
			continue // the operator creates it
		}
		if err := s.API.Create(t.Context(), object); err != nil {
			t.Fatalf("create %s %s: %v", w.kind, w.name, err)
		}
	}
	var unobserved bytes.Buffer
	for _, w := range wanted {
		object := await(t, s, makeObject(t, w.kind, w.name, w.spec), w.verdict)
		writeObject(t, &judged, object)
		if mainCondition(w.kind).Type != v1beta1.ConditionReady {
			continue
		}
		edited := object.DeepCopy()
		edited.SetGeneration(object.GetGeneration() + 1)
		writeObject(t, &unobserved, edited)
		created := makeObject(t, w.kind, "new", w.spec)
		if err := s.API.Create(t.Context(), created, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		writeObject(t, &unobserved, created)
	}
	expectGolden(t, toolReport(t, &judged))
	expectInProgress(t, toolReport(t, &unobserved))
}

// expectInProgress checks the report about objects whose spec the operator has not observed.
func expectInProgress(t *testing.T, report string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(report), "\n")[1:]
	if len(lines) == 0 {
		t.Error("no objects")
	}
	for _, line := range lines {
		if fields := strings.Fields(line); strings.Join(fields[2:], "/") != "InProgress/InProgress/Progressing" {
			t.Errorf("an object that was not observed is not in progress: %s", line)
		}
	}
}

func writeObject(t *testing.T, to *bytes.Buffer, object *unstructured.Unstructured) {
	t.Helper()
	text, err := yaml.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	to.WriteString("---\n" + string(text))
}

func makeObject(t *testing.T, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1beta1.GroupVersion.WithKind(kind))
	object.SetNamespace(namespace)
	object.SetName(name)
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(spec), &fields); err != nil {
		t.Fatal(err)
	}
	object.Object["spec"] = fields
	return object
}

// await waits until an object has the expected condition.
func await(t *testing.T, s *world.World, object *unstructured.Unstructured, verdict string) *unstructured.Unstructured {
	t.Helper()
	last := "nothing"
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience.Limit(), true, func(ctx context.Context) (bool, error) {
		if err := s.API.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		var conditions struct {
			Status struct{ Conditions []metav1.Condition }
		}
		text, err := object.MarshalJSON()
		if err != nil {
			return false, err
		}
		if err := yaml.Unmarshal(text, &conditions); err != nil {
			return false, err
		}
		for _, c := range conditions.Status.Conditions {
			if c.Type == v1beta1.ConditionReady || c.Type == v1beta1.ConditionSucceeded {
				last = string(c.Status) + " " + c.Reason
			}
		}
		return last == verdict, nil
	})
	if err != nil {
		t.Fatalf("%s %s: %v: the condition is %s, not %s", object.GetKind(), object.GetName(), err, last, verdict)
	}
	return object
}

func toolReport(t *testing.T, objects *bytes.Buffer) string {
	t.Helper()
	config, err := filepath.Abs(filepath.Join("..", "..", "config", "gitops"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", ".", "--flux", filepath.Join(config, "flux", "team.yaml"), "--argocd", filepath.Join(config, "argocd", "argocd-cm.yaml"))
	cmd.Dir, cmd.Stdin = filepath.Join("..", "..", "hack", "gitops"), objects
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, complaints.String())
	}
	return string(out)
}

func expectGolden(t *testing.T, text string) {
	t.Helper()
	golden := filepath.Join("testdata", "verdicts.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s differs (-want +got); run with -update if it is meant:\n%s", golden, diff)
	}
}
