// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/trigger"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

// TestOnlyWatchedObjectsGetReports tries to have an Event written to an object that the operator did not see.
func TestOnlyWatchedObjectsGetReports(t *testing.T) {
	spec := v1beta1.AgentTriggerSpec{Watch: &v1beta1.TriggerWatch{Report: v1beta1.ReportEvent}, Task: &v1beta1.TriggerTask{}}
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "shop", "uid": "u1"}}
	seen := trigger.Firing{Input: expr.Input{Object: pod}}
	if got := reportObject(spec, seen); got == nil || *got != (v1beta1.WatchedObject{APIVersion: "v1", Kind: "Pod", Name: "shop", UID: "u1"}) {
		t.Errorf("a watched object: %+v", got)
	}
	byHand := seen
	byHand.Manual = true
	silent := *spec.DeepCopy()
	silent.Watch.Report = v1beta1.ReportNone
	for name, got := range map[string]*v1beta1.WatchedObject{
		"fired by a person": reportObject(spec, byHand), "without a report": reportObject(silent, seen), "without an object": reportObject(spec, trigger.Firing{}),
		"a webhook": reportObject(v1beta1.AgentTriggerSpec{Task: spec.Task}, seen),
	} {
		if got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestReportOfAnEnd(t *testing.T) {
	task := &v1beta1.AgentTask{}
	task.Name, task.Status.Phase, task.Status.Result = "explain-1", v1beta1.TaskSuccess, &v1beta1.TaskResult{Summary: "The port is missing."}
	if kind, note := endOf(task); kind != corev1.EventTypeNormal || note != "The port is missing." {
		t.Errorf("a success: %s %s", kind, note)
	}
	task.Status.Phase, task.Status.Error = v1beta1.TaskFailed, &v1beta1.RunError{Message: "out of tokens"}
	if kind, note := endOf(task); kind != corev1.EventTypeWarning || !strings.Contains(note, "explain-1") || !strings.Contains(note, "out of tokens") {
		t.Errorf("a failure: %s %s", kind, note)
	}
}
