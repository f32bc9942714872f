// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

const lettersSkill = "---\nname: letters\ndescription: Writes letters.\n---\nBegin with a greeting.\n"

// MakeSkill returns the ConfigMap of a skill with a file.
func MakeSkill(name, instructions string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: named(name), Data: map[string]string{"SKILL.md": instructions, "examples__one.txt": "Dear Alice"}}
}

func skills(w *world) {
	withSkills := func(configMaps ...string) *v1beta1.AgentRole {
		role := MakeRole("clerk").Prompt("You are a clerk.").Allow().Obj()
		for _, name := range configMaps {
			role.Spec.Skills = append(role.Spec.Skills, v1beta1.SkillSource{ConfigMapName: name})
		}
		return role
	}

	Describe("Skills", func() {
		It("are in the prompt and in the status of the role, and the agent reads them and their files", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeSkill("letters-x7k2", lettersSkill), withSkills("letters-x7k2"))
			Eventually(r.role("clerk")).WithContext(ctx).Should(And(HaveStatus(ContainSubstring("True Ready")),
				HaveField("Status.Skills", ConsistOf(v1beta1.RoleSkill{Name: "letters", Description: "Writes letters.", ConfigMapName: "letters-x7k2"}))))
			r.create(ctx, MakeTask("whole", "Read the skill letters").Role("clerk").Obj(), MakeTask("file", "Read the file examples/one.txt of the skill letters").Role("clerk").Obj(),
				MakeTask("unknown", "Read the skill poems").Role("clerk").Obj(), MakeTask("elsewhere", "Read the file ../one.txt of the skill letters").Role("clerk").Obj())
			Expect(r.systemPrompt(ctx, "whole")).To(ContainSubstring("- **letters**: Writes letters."))
			for name, want := range map[string]string{
				"whole": "Begin with a greeting.\n\n[Files of this skill: examples/one.txt]", "file": "Dear Alice",
				"unknown": `There is no skill "poems". Your skills are: letters.`, "elsewhere": `has no file "../one.txt". Its files are: examples/one.txt.`,
			} {
				Eventually(r.task(name)).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
				requests := must(ctx, w.requestsOf(r.agent(ctx, name).UID))
				Expect(requests[len(requests)-1].lastMessage()).To(ContainSubstring(want), name)
			}
		})

		It("belong to the orchestrator of a chat, too, whose role may change to another ConfigMap", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeSkill("letters-1", lettersSkill))
			role := MakeRole("orchestrator").Obj()
			role.Spec.Skills = []v1beta1.SkillSource{{ConfigMapName: "letters-1"}}
			r.create(ctx, role)
			r.openChat(ctx)
			r.sendMessage(ctx, "first", "Read the skill letters")
			Eventually(r.task("chat-1")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", ContainSubstring("Begin with a greeting."))))
			By("replacing the ConfigMap, as kustomize does with every change")
			r.create(ctx, MakeSkill("letters-2", "---\nname: letters\ndescription: Writes letters.\n---\nBegin with the date.\n"))
			change(ctx, r, r.role("orchestrator"), func(role *v1beta1.AgentRole) { role.Spec.Skills[0].ConfigMapName = "letters-2" })
			old, err := fetch(ctx, r, "letters-1", &corev1.ConfigMap{})
			Expect(err).NotTo(HaveOccurred())
			Expect(r.API.Delete(ctx, old)).To(Succeed())
			Eventually(r.role("orchestrator")).WithContext(ctx).Should(HaveField("Status.Skills", ConsistOf(HaveField("ConfigMapName", "letters-2"))))
			r.sendMessage(ctx, "second", "Read the skill letters")
			Eventually(r.task("chat-2")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", ContainSubstring("Begin with the date."))))
		})

		It("are not offered to a role without skills, nor to a task of type Tool", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeSkill("letters", lettersSkill), MakeTask("work", "Read the skill letters").Obj(), MakeToolTask("call", "read_skill", `{"skill":"letters"}`).Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			requests := must(ctx, w.requestsOf(r.agent(ctx, "work").UID))
			Expect(requests[0].tools()).NotTo(ContainElement("read_skill"))
			Expect(requests[len(requests)-1].lastMessage()).To(ContainSubstring(`There is no tool "read_skill" for you`))
			Eventually(r.task("call")).WithContext(ctx).Should(HaveStatus(ContainSubstring("Unknown ToolNotFound")))
		})

		It("wait for their ConfigMap, and a skill that cannot be used is in the status of the role", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, withSkills("letters", "more"), MakeSkill("more", "# Letters\n"), MakeTask("work", "Read the skill letters").Role("clerk").Obj())
			Eventually(r.role("clerk")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("False ConfigMapNotFound"), ContainSubstring(`Create the ConfigMap "letters"`))))
			Eventually(r.task("work")).WithContext(ctx).Should(HaveStatus(ContainSubstring("Unknown ConfigMapNotFound")))
			r.create(ctx, MakeSkill("letters", lettersSkill))
			Eventually(r.role("clerk")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("False InvalidSpec"), ContainSubstring(`The skill in the ConfigMap "more"`), ContainSubstring("must begin with front matter"))))
			r.setConfigMap(ctx, "more", "SKILL.md", lettersSkill)
			Eventually(r.role("clerk")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("False InvalidSpec"), ContainSubstring("both contain the skill letters"))))
			Expect(must(ctx, r.role("clerk")).Status.Skills).To(BeEmpty())
			r.setConfigMap(ctx, "more", "SKILL.md", "---\nname: poems\ndescription: Writes poems.\n---\n")
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Eventually(r.role("clerk")).WithContext(ctx).Should(And(HaveStatus(ContainSubstring("True Ready")), HaveField("Status.Skills", HaveLen(2))))
		})
	})
}
