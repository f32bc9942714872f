// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/conditions"
)

// table has the fields of conditions.yaml that the test reads.
type table struct {
	Groups  []struct{ Group, Doctor string }
	Reasons []struct {
		Reason, Group string
		States        map[string][]string
		StateGroups   map[string]string
	}
}

// TestObjects_EveryRow_Reported builds an object for every state of every kind.
func TestObjects_EveryRow_Reported(t *testing.T) {
	text, err := os.ReadFile("../../api/v1beta1/conditions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rows table
	if err := yaml.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	doctor := map[string]string{}
	for _, g := range rows.Groups {
		doctor[g.Group] = g.Doctor
	}
	checked := map[string]bool{}
	for _, r := range rows.Reasons {
		for on, kinds := range r.States {
			name, status, _ := strings.Cut(on, "=")
			want := doctor[r.Group]
			if group := r.StateGroups[on]; group != "" {
				want = doctor[group]
			}
			for _, kind := range kinds {
				checked[kind] = true
				c := metav1.Condition{Type: name, Status: metav1.ConditionStatus(status), Reason: r.Reason, Message: "why"}
				findings := examine(t, withCondition(t, kind, "one", c))
				switch {
				case want == "OK" && len(findings) > 0:
					t.Errorf("%s %s %s is reported: %v", kind, on, r.Reason, findings)
				case want != "OK" && (len(findings) != 1 || string(findings[0].Status) != want ||
					!strings.Contains(findings[0].Message, kind+" one") || !strings.Contains(findings[0].Message, r.Reason) || findings[0].Advice != "why"):
					t.Errorf("%s %s %s: %v, want %s", kind, on, r.Reason, findings, want)
				}
			}
		}
	}
	if len(checked) != len(kinds) || len(checked) != len(wanted) {
		t.Errorf("the table has %d kinds, the doctor %d, the API %d", len(checked), len(kinds), len(wanted))
	}
}

// TestObjects_WhatTheDoctorMissed: two triggers that cannot fire, a task that cannot start, and a role that is not
// ready.
func TestObjects_WhatTheDoctorMissed(t *testing.T) {
	notReady := func(reason string) metav1.Condition {
		return metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: "Correct it."}
	}
	findings := examine(t,
		withCondition(t, "AgentTrigger", "cron", notReady(v1beta1.ReasonInvalidSpec)),
		withCondition(t, "AgentTrigger", "kind", notReady(v1beta1.ReasonKindNotFound)),
		withCondition(t, "AgentTask", "stuck", metav1.Condition{Type: v1beta1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: v1beta1.ReasonToolNotFound, Message: "No such tool."}),
		withCondition(t, "AgentRole", "clerk", notReady(v1beta1.ReasonRoleNotFound)),
	)
	if Healthy(findings) {
		t.Error("doctor exits with 0")
	}
	for _, want := range []string{"AgentTrigger cron is not ready: InvalidSpec", "AgentTrigger kind is not ready: KindNotFound", "AgentTask stuck: ToolNotFound",
		"AgentRole clerk is not ready: RoleNotFound"} {
		found := false
		for _, f := range findings {
			found = found || f.Status == Failed && f.Message == want
		}
		if !found {
			t.Errorf("no finding %q: %v", want, findings)
		}
	}
	if len(findings) != 4 {
		t.Errorf("%d findings: %v", len(findings), findings)
	}
}

func TestObjects_PolicyMatchesNothing(t *testing.T) {
	ready := metav1.Condition{
		Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonNamesNotFound,
		Message: `The policy judges the calls that it matches. spec.match.tools: "git__*" matches no tool.`,
	}
	findings := examine(t, withCondition(t, "ToolPolicy", "writes", ready))
	if len(findings) != 1 || findings[0].Status != Warning || findings[0].Advice != ready.Message ||
		findings[0].Message != "ToolPolicy writes: NamesNotFound" {
		t.Errorf("%v", findings)
	}
	ready.Reason, ready.Message = v1beta1.ReasonReady, "The policy judges the calls that it matches."
	if findings := examine(t, withCondition(t, "ToolPolicy", "writes", ready)); len(findings) > 0 {
		t.Errorf("a policy that matches tools: %v", findings)
	}
}

func TestObjects_OperatorDoesNotCheck(t *testing.T) {
	old := metav1.NewTime(time.Now().Add(-time.Hour))
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "new", CreationTimestamp: old}}
	edited := withCondition(t, "AgentRole", "edited", metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonReady})
	edited.SetGeneration(2)
	edited.SetCreationTimestamp(old)
	for name, o := range map[string]client.Object{"AgentTask new": task, "AgentRole edited": edited} {
		findings := examine(t, o)
		if len(findings) != 1 || findings[0].Status != Failed || !strings.HasPrefix(findings[0].Message, "no operator has checked "+name) {
			t.Errorf("%s: %v", name, findings)
		}
	}
	now := metav1.Now()
	changed := metav1.ObjectMeta{CreationTimestamp: old, ManagedFields: []metav1.ManagedFieldsEntry{{Time: &now}, {Time: &old, Subresource: "status"}}}
	if got := changeTime(changed, ""); !got.Equal(now.Time) {
		t.Errorf("it changed at %s, want %s", got, now)
	}
}

func TestObjects_SlowStart_Warns(t *testing.T) {
	queued := metav1.Condition{Type: v1beta1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: v1beta1.ReasonParallelLimit,
		Message: "It waits.", LastTransitionTime: metav1.NewTime(time.Now().Add(-2 * slowStart))}
	trigger := &v1beta1.AgentTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "drops"}, Status: v1beta1.AgentTriggerStatus{
		Conditions: []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonReady}},
		LastDrop:   &v1beta1.DroppedFiring{ID: "1", Time: metav1.Now(), Reason: v1beta1.DropRefused, Message: "Too large."},
	}}
	for _, o := range []client.Object{withCondition(t, "AgentTask", "late", queued), trigger} {
		if findings := examine(t, o); len(findings) != 1 || findings[0].Status != Warning {
			t.Errorf("%s: %v", o.GetName(), findings)
		}
	}
	trigger.Status.LastFiredTime = new(metav1.NewTime(time.Now().Add(time.Minute)))
	if findings := examine(t, trigger); len(findings) > 0 {
		t.Errorf("a firing after the drop: %v", findings)
	}
}

func TestObjects_ManyAlike_Counted(t *testing.T) {
	c := metav1.Condition{Type: v1beta1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonRateLimited, Message: "why"}
	var all []client.Object
	for _, name := range strings.Split("abcdefghijkl", "") {
		all = append(all, withCondition(t, "AgentTask", name, c))
	}
	findings := examine(t, all...)
	if len(findings) != maxAlike+1 || !strings.HasPrefix(findings[maxAlike].Message, "7 more objects") {
		t.Errorf("%v", findings)
	}
}

// withCondition returns an object of a kind that has a condition, and the main one that its kind always has.
func withCondition(t *testing.T, kind, name string, c metav1.Condition) client.Object {
	t.Helper()
	main := metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonReady}
	switch kind {
	case "AgentTask", "SubAgent", "AgentMessage":
		main = metav1.Condition{Type: v1beta1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: v1beta1.ReasonRunning}
	}
	main.ObservedGeneration, c.ObservedGeneration = 1, 1
	now := c.LastTransitionTime
	if now.IsZero() {
		now = metav1.Now()
	}
	all := conditions.Set(conditions.Set(nil, kind, main, now), kind, c, now)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&object{
		Metadata: metav1.ObjectMeta{Namespace: "team", Name: name, Generation: 1, CreationTimestamp: now},
	})
	if err != nil {
		t.Fatal(err)
	}
	made, err := scheme(t).New(v1beta1.GroupVersion.WithKind(kind))
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(map[string]any{"metadata": content["metadata"], "status": map[string]any{"conditions": all}})
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, made); err != nil {
		t.Fatal(err)
	}
	return made.(client.Object)
}

func examine(t *testing.T, objects ...client.Object) []Finding {
	t.Helper()
	return Target{API: fake.NewClientBuilder().WithScheme(scheme(t)).WithReturnManagedFields().WithObjects(objects...).Build(), Namespace: "team"}.objects(t.Context(), nil)
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := v1beta1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNotifications_GivenUp_Reported checks that the last failure of each receiver is shown, until a notification is
// delivered.
func TestNotifications_GivenUp_Reported(t *testing.T) {
	chat := withCondition(t, "AgentChat", "one", metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonReady})
	chat.SetAnnotations(map[string]string{v1beta1.AnnotationNotified: `{"alerts/url":{"state":"post-3","error":"no answer","sequence":3},"alerts/slack":{"state":"post-3","sequence":3}}`})
	findings := examine(t, chat)
	if len(findings) != 1 || findings[0].Status != Warning || !strings.Contains(findings[0].Message, "the receiver in alerts/url") || findings[0].Advice != "no answer" {
		t.Errorf("found %v", findings)
	}
}
