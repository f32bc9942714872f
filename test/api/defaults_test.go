// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	nestor "github.com/nestor-dev/nestor/api/v1beta1"
)

var _ = Describe("Defaults", func() {
	// The required fields by kind; defaults.golden has the result of the server's defaulting. Optional structs with
	// defaults are given empty.
	minimal := []struct{ kind, spec string }{
		{"AgentChat", "{}"},
		{"AgentChat", "{workspace: {emptyDir: {}}}"},
		{"AgentMessage", "{chat: hello, content: Hello!}"},
		{"AgentTask", "{type: Agent, role: general, instruction: Do it.}"},
		{"SubAgent", "{task: minimal, role: general, depth: 1, instruction: Do it.}"},
		{"AgentRole", "{systemPrompt: You help.}"},
		{"AgentRole", "{systemPrompt: You help., tools: {}, delegation: {}, allowedNamespaces: {}}"},
		{"ModelProvider", "{baseURL: 'https://models.example.com/v1'}"},
		{"ModelProvider", "{baseURL: 'https://models.example.com/v1', models: [{name: gpt-5}], allowedNamespaces: {}}"},
		{"ToolServer", "{url: 'https://tools.example.com/mcp'}"},
		{"AgentQuota", "{period: Day, maxTokens: 1000000}"},
		{"AgentEvaluation", "{role: poet, cases: [{name: one, taskUID: a}]}"},
		{"ToolPolicy", "{rules: [{name: writes, allowWhen: call.readOnly}], namespaces: {}}"},
		{"AgentTrigger", "{schedule: {cron: '@daily'}, task: {role: general, instruction: Do it.}}"},
		{"AgentTrigger", "{webhook: {secretKeyRef: {name: a, key: b}}, message: {chat: hello, content: Hello!}}"},
	}

	It("are filled in by the server", func(ctx SpecContext) {
		var report strings.Builder
		for _, one := range minimal {
			object := &unstructured.Unstructured{Object: map[string]any{}}
			object.SetGroupVersionKind(nestor.GroupVersion.WithKind(one.kind))
			object.SetNamespace(newNamespace(ctx))
			object.SetName("minimal")
			var spec map[string]any
			Expect(yaml.Unmarshal([]byte(one.spec), &spec)).To(Succeed())
			object.Object["spec"] = spec
			Expect(api.Create(ctx, object)).To(Succeed())
			filled, err := yaml.Marshal(object.Object["spec"])
			Expect(err).NotTo(HaveOccurred())
			fmt.Fprintf(&report, "# %s %s\n%s\n", one.kind, one.spec, filled)
		}
		expectGolden("defaults.golden", report.String())
	})

	It("add a spec to a chat without one", func(ctx SpecContext) {
		chat := &unstructured.Unstructured{}
		chat.SetGroupVersionKind(nestor.GroupVersion.WithKind("AgentChat"))
		chat.SetNamespace(newNamespace(ctx))
		chat.SetName("minimal")
		Expect(api.Create(ctx, chat)).To(Succeed())
		Expect(chat.Object["spec"]).To(HaveKeyWithValue("role", "orchestrator"))
		Expect(chat.Object["spec"]).To(HaveKeyWithValue("limits", HaveKeyWithValue("maxParallelTasks", BeEquivalentTo(8))))
	})
})
