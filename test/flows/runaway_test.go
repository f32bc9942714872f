// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// runaway covers models that never end on their own.
func runaway(w *world) {
	Describe("One message cannot run away", func() {
		It("a chat whose model delegates again on every result pauses, and a message resumes it", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			chat := MakeChat("chat").Obj()
			chat.Spec.Limits.MaxTurnsPerMessage = ptr.To[int32](3)
			r.create(ctx, chat)
			r.sendMessage(ctx, "request", "Never stop")
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonPausedTurnLimit, "limits.maxTurnsPerMessage"))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Paused: 3 turns were taken since your last message")))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("I am not done."))) // text beside the tool calls
			Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Tasks.Success", BeEquivalentTo(3)))

			r.sendMessage(ctx, "again", "Go on")
			Eventually(r.chat).WithContext(ctx).Should(And(HaveField("Status.Tasks.Success", BeEquivalentTo(6)),
				BeDone(v1beta1.ChatIdle, v1beta1.ReasonPausedTurnLimit, "limits.maxTurnsPerMessage")))
		})

		It("a chat that would start more tasks than maxTasksPerMessage starts none of them and pauses", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			chat := MakeChat("chat").Obj()
			chat.Spec.Limits.MaxTasksPerMessage = ptr.To[int32](2)
			r.create(ctx, chat)
			r.sendMessage(ctx, "request", `Spawn [{"task":"Submit a"},{"task":"Submit b"},{"task":"Submit c"}]`)
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonPausedTaskLimit, "limits.maxTasksPerMessage"))
			Expect(must(ctx, r.chat).Status.Tasks).To(Equal(v1beta1.TaskCounts{}))
		})

		It("a standalone tree starts no more tasks than its limit", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeRole("lead").Prompt("Lead.").Delegates("general").Obj())
			task := MakeTask("work", `Spawn [{"task":"Submit a"},{"task":"Submit b"},{"task":"Submit c"}]`).Role("lead").Obj()
			task.Spec.Limits = &v1beta1.TaskLimits{MaxTasks: ptr.To[int32](2)}
			r.create(ctx, task)
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(must(ctx, r.task("work")).Status.Result.Summary).To(ContainSubstring("exceed the limit on the number of tasks"))
			Expect(must(ctx, r.sub("work")).Spec.Limits.MaxTasks).To(BeEquivalentTo(2))
			Expect(must(ctx, r.sub("work")).Spec.Limits.MaxTotalTokens).To(BeEquivalentTo(2_000_000))
		})
	})
}
