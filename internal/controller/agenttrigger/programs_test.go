// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestOutputSchemaOfTriggerIsChecked(t *testing.T) {
	made := func(schema string) *v1beta1.AgentTrigger {
		task := &v1beta1.TriggerTask{Role: "r", Instruction: "x", OutputSchema: &runtime.RawExtension{Raw: []byte(schema)}}
		return &v1beta1.AgentTrigger{Spec: v1beta1.AgentTriggerSpec{Schedule: &v1beta1.TriggerSchedule{Cron: "@daily"}, Task: task}}
	}
	if _, err := newEvaluator().programs.Now(made(`{"type":"object"}`)); err != nil {
		t.Error(err)
	}
	bad := made(`{"type":"object","anyOf":[` + strings.Repeat(`{},`, 4999) + `{}]}`)
	_, err := newEvaluator().programs.Now(bad)
	condition := readiness(bad, err)
	if condition.Reason != v1beta1.ReasonInvalidSpec || !strings.Contains(condition.Message, "spec.task.outputSchema: the schema is too complex") {
		t.Errorf("got %+v", condition)
	}
}
