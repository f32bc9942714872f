// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	known, err := readKinds()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ file, source, want string }{
		"a kind after the field":          {"x.go", `"Set spec.limits of the ModelProvider."`, "1: ModelProvider has no field spec.limits"},
		"a kind before the field":         {"x.md", "Write an AgentMessage with `spec.budget`.", "1: AgentMessage has no field spec.budget"},
		"the kind of the package":         {"internal/controller/toolserver/x.go", `"check spec.addr"`, "1: ToolServer has no field spec.addr"},
		"another kind than the package's": {"internal/controller/agentrole/x.go", `"an AgentMessage with spec.revoke"`, ""},
		"a kind in the sentence":          {"x.md", "The ToolServer waits.\nIts ModelProvider has `spec.url`.", "2: ModelProvider has no field spec.url"},
		"no kind at all":                  {"x.md", "It is in `status.waitings`.", " has no field status.waitings"},
		"literals that are joined":        {"x.go", `"Set spec.limits " + "of the ModelProvider"`, "1: ModelProvider has no field spec.limits"},
		"a field of a list":               {"x.md", "`status.waiting[].denyRequesters` of a chat", ""},
		"a field of free data":            {"x.md", "`status.result.data.verdict` of the AgentTask", ""},
		"a word of the glossary":          {"x.md", "`status.toolCount` of the chat", "1: AgentChat has no field status.toolCount"},
		"a command":                       {"x.md", "```sh\nkubectl get agenttask x -o jsonpath='{.status.fase}'\n```", "2: AgentTask has no field status.fase"},
		"a kind of Kubernetes": {
			"x.md", "```sh\nkubectl get deployment x -o jsonpath='{.spec.template.spec.containers[0].image}'\n```", "",
		},
		"a wrong field of such a kind": {"x.md", "`spec.bundle` of the APIService", "1: APIService has no field spec.bundle"},
		"the history API":              {"x.md", "`modelcalls` have `spec.agent`", ""},
		"a function in CEL":            {"x.md", "`current: status.conditions.exists(c, true)`", ""},
		"a condition":                  {"x.md", "`{.status.conditions[?(@.type==\"Ready\")].message}` of the ToolServer", ""},
		"code in CEL":                  {"config/operator/policies.yaml", "expression: object.spec.nothing == 1", ""},
		"a message of a policy": {
			"config/operator/policies.yaml", "resources: [agenttriggers]\nmessageExpression: >-\n  'spec.workspace: no'", "AgentTrigger has no field spec.workspace",
		},
		"a description in a definition": {"nestor.dev_agentroles.yaml", "description: see spec.prompt", "1: AgentRole has no field spec.prompt"},
		"code in TypeScript":            {"x.ts", "const a = chat.spec.nothing ?? spec.nowhere;", ""},
		"a string in TypeScript":        {"x.tsx", "title={`Set spec.limits of the ModelProvider ${name}`}", "1: ModelProvider has no field spec.limits"},
		"text of an element":            {"x.tsx", "<p>Set spec.limits of the ModelProvider</p>", "1: ModelProvider has no field spec.limits"},
	} {
		got := strings.Join(known.checkFile(c.file, c.source), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
