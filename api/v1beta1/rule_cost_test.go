// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"maps"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsinstall "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// TestRulesCostTheServerLittle bounds the cost of the CEL rules. The API server evaluates all rules of a kind at every
// write, including writes of the status, and each access to a field of spec copies the schemas of all its fields
// (docs/adr/0008-few-writes.md).
func TestRulesCostTheServerLittle(t *testing.T) {
	const ended = `iterations: 6, result: {summary: Done}, startTime: "2026-01-01T00:00:00Z", completionTime: "2026-01-01T00:00:01Z", usage: {modelCalls: 6},
		conditions: [{type: Succeeded, status: "True", reason: Succeeded, message: Done, observedGeneration: 1, lastTransitionTime: "2026-01-01T00:00:01Z"}]`
	for kind, c := range map[string]struct {
		object       string
		first, later float64
	}{
		"AgentTask": {`{metadata: {name: a}, spec: {type: Agent, role: worker, instruction: Work, context: None}, status: {phase: Success, ` + ended + `}}`, 650, 950},
		"SubAgent": {`{metadata: {name: a}, spec: {task: a, role: worker, depth: 1, instruction: Work, context: None, modelProvider: default,
			model: m, limits: {maxIterations: 20, maxDurationSeconds: 300, maxDepth: 2, maxTasks: 100, maxTotalTokens: 2000000}}, status: {phase: Completed, ` + ended + `,
			messages: [{seq: 1, role: Assistant, at: "2026-01-01T00:00:00Z"}], toolCalls: [{id: c, tool: calculator, phase: Success, at: "2026-01-01T00:00:00Z"}]}}`, 650, 950},
	} {
		validator, structural := compileRules(t, kind)
		after := parse(t, c.object)
		allocations := func(before map[string]any) float64 {
			return testing.AllocsPerRun(20, func() {
				if errs, _ := validator.Validate(t.Context(), nil, structural, after, before, 1<<40); len(errs) > 0 {
					t.Fatal(errs)
				}
			})
		}
		before := maps.Clone(after)
		delete(before, "status")
		if got := allocations(before); got > c.first {
			t.Errorf("to check the first status of a %s takes the server %.0f allocations, want at most %.0f", kind, got, c.first)
		}
		before["status"] = maps.Clone(after["status"].(map[string]any))
		before["status"].(map[string]any)["iterations"] = int64(5)
		if got := allocations(before); got > c.later {
			t.Errorf("to check a later status of a %s takes the server %.0f allocations, want at most %.0f", kind, got, c.later)
		}
	}
}

// compileRules compiles the rules of a kind as the API server does.
func compileRules(t *testing.T, kind string) (*cel.Validator, *schema.Structural) {
	t.Helper()
	scheme := runtime.NewScheme()
	apiextensionsinstall.Install(scheme)
	for _, definition := range definitions(t) {
		if definition.Spec.Names.Kind != kind {
			continue
		}
		internal := &apiextensions.CustomResourceDefinition{}
		if err := scheme.Convert(definition, internal, nil); err != nil {
			t.Fatal(err)
		}
		structural, err := schema.NewStructural(internal.Spec.Validation.OpenAPIV3Schema)
		if err != nil {
			t.Fatal(err)
		}
		return cel.NewValidator(structural, true, 1<<40), structural
	}
	t.Fatalf("there is no kind %s", kind)
	return nil, nil
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	return object
}
