// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// conversations covers what a person does while agents are active.
func conversations(w *world) {
	Describe("A conversation", func() {
		It("continues while three tasks run, and every answer names the message that it answers", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.addToolServer(ctx, MakeToolServer("box", w.tools.URL))
			r.openChat(ctx)
			for i := range 3 {
				r.sendMessage(ctx, fmt.Sprintf("work-%d", i+1), fmt.Sprintf("Delegate to general: Wait at %s-%d", r.namespace, i+1))
				Eventually(r.task(fmt.Sprintf("chat-%d", i+1))).WithContext(ctx).Should(BeIn(v1beta1.TaskRunning))
			}
			Eventually(r.chat).WithContext(ctx).Should(And(BeIn(v1beta1.ChatRunning), HaveField("Status.Tasks.Running", BeEquivalentTo(3))))

			By("answering the user meanwhile")
			for name, whom := range map[string]string{"greet-alice": "Alice", "greet-bob": "Bob"} {
				r.sendMessage(ctx, name, "Greet "+whom)
				Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, "+whom+"!"), ReplyingTo(name)))
			}
			r.sendMessage(ctx, "sum", "What is 17 * 23?")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("17 * 23 is 391."), ReplyingTo("sum")))
			Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Tasks", And(HaveField("Running", BeEquivalentTo(3)), HaveField("Success", BeEquivalentTo(1)))))

			By("reporting each task when it ends, the last first")
			for i := 3; i >= 1; i-- {
				gate := fmt.Sprintf("%s-%d", r.namespace, i)
				w.tools.open(gate)
				Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("went through "+gate), ReplyingTo(fmt.Sprintf("work-%d", i))))
			}
			Eventually(r.chat).WithContext(ctx).Should(And(BeIn(v1beta1.ChatIdle), HaveField("Status.Tasks.Success", BeEquivalentTo(4))))
		})

		It("gets a title from the model beside its answer, at the cost of no further call", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "first", "Title Lighthouses")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("It is Lighthouses."), ReplyingTo("first")))
			Eventually(r.chat).WithContext(ctx).Should(And(BeIn(v1beta1.ChatIdle), HaveField("Status.Title", "Lighthouses")))
			Eventually(w.requestsOf(must(ctx, r.chat).UID)).WithContext(ctx).Should(HaveLen(1))

			By("replacing it when the subject changes")
			r.sendMessage(ctx, "second", "Title Harbours")
			Eventually(r.chat).WithContext(ctx).Should(And(BeIn(v1beta1.ChatIdle), HaveField("Status.Title", "Harbours")))
			Eventually(w.requestsOf(must(ctx, r.chat).UID)).WithContext(ctx).Should(HaveLen(2))
		})

		It("has two questions and two approvals pending at the same time, and accepts them in any order", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.addToolServer(ctx, MakeToolServer("box", w.tools.URL))
			r.openChat(ctx)
			one, two := r.namespace+"/one", r.namespace+"/two"
			r.sendMessage(ctx, "request", fmt.Sprintf(
				`Spawn [{"task":"Ask: Which colour?"},{"task":"Ask: Which size?"},{"task":"Write %s"},{"task":"Write %s"}]`, one, two))
			Eventually(r.chat).WithContext(ctx).Should(And(BeIn(v1beta1.ChatWaiting), HaveField("Status.Waiting", HaveLen(4)), HaveField("Status.Tasks.Waiting", BeEquivalentTo(4))))
			calls := map[string]string{}
			for _, item := range must(ctx, r.chat).Status.Waiting {
				calls[item.Task] = item.ToolCall
			}
			colour, size := r.question(ctx, "chat-1"), r.question(ctx, "chat-2")

			r.create(ctx, MakeMessage("deny-two").Deny("chat-4", calls["chat-4"], "one is enough").Obj())
			Eventually(r.task("chat-4")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			r.create(ctx, MakeMessage("size").Content("Large").InReplyTo(size.Name).Obj())
			Eventually(r.task("chat-2")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			r.create(ctx, MakeMessage("approve-one").Approve("chat-3", calls["chat-3"]).Obj())
			Eventually(r.task("chat-3")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(must(ctx, r.task("chat-1")).Status.Phase).To(Equal(v1beta1.TaskWaiting), "its question is not answered")
			r.create(ctx, MakeMessage("colour").Content("Green").InReplyTo(colour.Name).Obj())
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))

			for task, result := range map[string]string{"chat-1": "Green", "chat-2": "Large", "chat-3": "wrote " + one, "chat-4": "one is enough"} {
				Expect(must(ctx, r.task(task)).Status.Result.Summary).To(ContainSubstring(result))
			}
			Expect(w.tools.writeCount(one)()).To(Equal(1))
			Expect(w.tools.writeCount(two)()).To(BeZero())
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Report of chat-1, chat-2, chat-3, chat-4"), ReplyingTo("request")))
			Eventually(r.chat).WithContext(ctx).Should(And(BeIn(v1beta1.ChatIdle), HaveField("Status.Waiting", BeEmpty())))
		})

		It("decides two calls of one reply separately, and continues once when both are decided", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.addToolServer(ctx, MakeToolServer("box", w.tools.URL))
			r.openChat(ctx)
			one, two := r.namespace+"/one", r.namespace+"/two"
			r.sendMessage(ctx, "request", fmt.Sprintf("Delegate to general: Write %s and %s", one, two))
			Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Waiting", HaveLen(2)))
			waiting := must(ctx, r.chat).Status.Waiting
			r.create(ctx, MakeMessage("second").Approve("chat-1", waiting[1].ToolCall).Obj())
			Eventually(r.message("second")).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
			Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Waiting", HaveLen(1)))
			Expect(w.tools.writeCount(two)()).To(BeZero(), "it is held until the other call is decided")
			r.create(ctx, MakeMessage("first").Approve("chat-1", waiting[0].ToolCall).Obj())
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect([]int{w.tools.writeCount(one)(), w.tools.writeCount(two)()}).To(Equal([]int{1, 1}))
			Expect(must(ctx, w.requestsOf(r.agent(ctx, "chat-1").UID))).To(HaveLen(2))
		})

		It("splits an answer that is longer than a message may be", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Talk at length")
			Eventually(r.posts).WithContext(ctx).Should(HaveLen(3))
			posts := must(ctx, r.posts)
			Expect(posts[0].Spec.Content).To(HaveLen(65536))
			Expect(posts[2].Spec.Content).To(HaveSuffix("11999 bottles "))
			Expect(posts).To(HaveEach(ReplyingTo("request")))
		})

		It("cancels everything with one message, and continues afterwards", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", `Spawn [{"task":"Hang"},{"task":"Ask: Which colour?"},{"role":"planner","task":"Delegate to coder: Hang"}]`)
			Eventually(r.task("chat-3-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskRunning))
			r.question(ctx, "chat-2")
			r.create(ctx, MakeMessage("stop").Cancel("").Obj())
			Eventually(r.message("stop")).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
			for _, name := range []string{"chat-1", "chat-2", "chat-3", "chat-3-1"} {
				Eventually(r.task(name)).WithContext(ctx).Should(BeDone(v1beta1.TaskCancelled, string(v1beta1.ErrorCancelled)))
			}
			Eventually(w.inFlight).WithContext(ctx).Should(BeZero())
			Eventually(r.chat).WithContext(ctx).Should(And(BeIn(v1beta1.ChatIdle), HaveField("Status.Waiting", BeEmpty())))
			r.sendMessage(ctx, "again", "Greet Alice")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!"), ReplyingTo("again")))
		})
	})
}
