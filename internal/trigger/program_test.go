// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

// The fields that follow the first expression too many are not compiled.
func TestExpressionsOfAllFieldsCount(t *testing.T) {
	half := strings.Repeat("{{ 1 }}", expr.MaxExpressions/2)
	spec := v1beta1.AgentTriggerSpec{Task: &v1beta1.TriggerTask{Instruction: half, SuccessCriteria: half}}
	if _, err := Compile(spec); err != nil {
		t.Error(err)
	}
	spec.DedupKey = "1"
	spec.Task.Arguments = &runtime.RawExtension{Raw: []byte(`{"a": "{{ ( }}"}`)}
	if _, err := Compile(spec); err == nil || !strings.Contains(err.Error(), "spec: there are more than") {
		t.Errorf("got %v", err)
	}
}
