// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func (r *testNamespace) setConfigMap(ctx context.Context, name, key, value string) {
	GinkgoHelper()
	config, err := fetch(ctx, r, name, &corev1.ConfigMap{})
	Expect(err).NotTo(HaveOccurred())
	config.Data[key] = value
	Expect(r.API.Update(ctx, config)).To(Succeed())
}

// systemPrompt returns the system prompt of the first request of a task's agent.
func (r *testNamespace) systemPrompt(ctx context.Context, task string) string {
	GinkgoHelper()
	Eventually(r.task(task)).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
	return must(ctx, r.requestsOf(r.agent(ctx, task).UID))[0].Body.Messages[0].Content
}

// promptIncludes covers texts of ConfigMaps in prompts.
func promptIncludes(w *world) {
	Describe("Prompt includes", func() {
		It("are read when an agent starts, so that a change affects agents that start afterwards", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeConfigMap("prompts", "style.md", `Write briefly. {{ include "prompts/other" }}`),
				MakeRole("writer").Prompt(`You write. {{ include "prompts/style.md" }} {{include   "prompts/style.md"}} {{ include "chart.labels" . }} End.`).Obj(),
				MakeTask("first", "Submit one").Role("writer").Obj())
			Expect(r.systemPrompt(ctx, "first")).To(HavePrefix(`You write. Write briefly. {{ include "prompts/other" }} Write briefly. {{ include "prompts/other" }} {{ include "chart.labels" . }} End.`),
				"includes in an included text, and the include of Helm, stay as they are")
			r.setConfigMap(ctx, "prompts", "style.md", "Write at length.")
			r.create(ctx, MakeTask("second", "Submit two").Role("writer").Obj())
			Expect(r.systemPrompt(ctx, "second")).To(HavePrefix("You write. Write at length."))
		})

		It("are also replaced in a prompt that comes from a ConfigMap", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeConfigMap("prompts", "writer", `You write. {{ include "rules/all" }}`), MakeRole("writer").PromptFrom("prompts", "writer").Obj(),
				MakeTask("work", "Submit one").Role("writer").Obj())
			Eventually(r.role("writer")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False ConfigMapNotFound")))
			Eventually(r.task("work")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("Unknown ConfigMapNotFound"), ContainSubstring(`Create the ConfigMap "rules"`))))
			r.create(ctx, MakeConfigMap("rules", "all", "Be kind."))
			Expect(r.systemPrompt(ctx, "work")).To(HavePrefix("You write. Be kind."))
			Eventually(r.role("writer")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
			rules, err := fetch(ctx, r, "rules", &corev1.ConfigMap{})
			Expect(err).NotTo(HaveOccurred())
			Expect(r.API.Delete(ctx, rules)).To(Succeed())
			Eventually(r.role("writer")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False ConfigMapNotFound")), "the role is checked again although its spec does not name the ConfigMap")
		})

		DescribeTable("what is wrong is in the status of the role, and its agents wait",
			func(ctx SpecContext, prompt, reason, message string) {
				r := w.newNamespace(ctx)
				r.create(ctx, MakeConfigMap("prompts", "long", strings.Repeat("x", 60_000)))
				r.create(ctx, MakeRole("writer").Prompt(prompt).Obj(), MakeTask("work", "Submit one").Role("writer").Obj())
				Eventually(r.role("writer")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("False "+reason), ContainSubstring(message))))
				Eventually(r.task("work")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("Unknown "+reason), ContainSubstring(message))))
				change(ctx, r, r.role("writer"), func(role *v1beta1.AgentRole) { role.Spec.SystemPrompt = "You write." })
				Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
				Eventually(r.role("writer")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
			},
			Entry("no ConfigMap", `{{ include "texts/style" }}`, v1beta1.ReasonConfigMapNotFound, `Create the ConfigMap "texts"`),
			Entry("no key", `{{ include "prompts/style" }}`, v1beta1.ReasonConfigMapNotFound, `under the key "style": the prompt of the role writer includes it`),
			Entry("no slash", `{{ include "prompts" }}`, v1beta1.ReasonInvalidSpec, `includes "prompts": write the name of a ConfigMap, a slash and a key`),
			Entry("no name", `{{ include "../secrets/key" }}`, v1beta1.ReasonInvalidSpec, `includes "../secrets/key": write the name of a ConfigMap`),
			Entry("a path as the key", `{{ include "prompts/a/b" }}`, v1beta1.ReasonInvalidSpec, `includes "prompts/a/b": write the name of a ConfigMap`),
			Entry("too long", `{{ include "prompts/long" }}{{ include "prompts/long" }}`, v1beta1.ReasonInvalidSpec, "has 120000 characters with its includes, and may have at most 65536"),
			Entry("too many", strings.Repeat(`{{ include "prompts/long" }}`, 33), v1beta1.ReasonInvalidSpec, "has 33 includes, and may have at most 32"),
		)
	})
}
