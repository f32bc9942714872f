// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// An agent with an output schema succeeds only with data that the driver has found valid, and an agent without one never has data.
func outputSchemaRequiresData(t *rapid.T) func(step) {
	return func(s step) {
		o := s.after.Outcome
		if o == nil || !o.Succeeded() || s.after.Config.Kind == Orchestrator {
			return
		}
		structured := len(s.after.Config.OutputSchema) > 0
		if has := isObject(string(o.Result.Data)); has != structured {
			t.Fatalf("the result has the data %q, and the output schema is %q", o.Result.Data, s.after.Config.OutputSchema)
		}
		if strings.Contains(string(o.Result.Data), "<") {
			t.Fatalf("the data is not as a log stores it: %s", o.Result.Data)
		}
	}
}

// The parameters of submit_result must be a valid schema with any output schema.
func TestSubmitResultTakesOutputSchema(t *testing.T) {
	c := Config{Kind: SubAgent, OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}
	schema, ok := c.SchemaOf(ToolSubmit)
	var parameters struct {
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &parameters); !ok || err != nil {
		t.Fatalf("SchemaOf returns %v %s: %v", ok, schema, err)
	}
	if got := string(parameters.Properties["data"]); got != string(c.OutputSchema) || strings.Join(parameters.Required, " ") != "result data" {
		t.Errorf("the parameters are %s", schema)
	}
	if !strings.Contains(SystemPrompt(c), "match the schema of submit_result") {
		t.Error("the prompt does not require data")
	}
	plain := Config{Kind: SubAgent}
	if _, ok := plain.SchemaOf(ToolSubmit); ok {
		t.Error("submit_result without an output schema is checked by the driver, which old logs do not expect")
	}
	if strings.Contains(string(submitTool(plain).Parameters), `"data"`) {
		t.Error("an agent without an output schema is offered data")
	}
}
