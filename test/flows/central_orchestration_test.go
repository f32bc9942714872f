// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// centralOrchestration covers centralised orchestration (seed 001).
func centralOrchestration(w *world) {
	Describe("001 Central orchestration", func() {
		It("phase 1: an agent that asks waits, its task waits, and the question is posted in the chat", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Summarise what was released this year.")
			post := r.question(ctx, "chat-1")
			Expect(post.Spec.Content).To(Equal("Agent Researcher needs input: Which year is it?"))
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeDone(v1beta1.TaskWaiting, v1beta1.ReasonWaitingForUser, "Which year is it?"))
			Eventually(r.sub("chat-1")).WithContext(ctx).Should(BeDone(v1beta1.SubAgentWaitingForUser, v1beta1.ReasonWaitingForUser))
			Expect(r.agent(ctx, "chat-1").Status.Question).To(Equal("Which year is it?"))
			Expect(must(ctx, r.task("chat-1")).Status.Waiting.Kind).To(Equal(v1beta1.WaitingQuestion))
			Eventually(r.chat).WithContext(ctx).Should(BeIn(v1beta1.ChatWaiting))
			Expect(must(ctx, r.chat).Status.Waiting).To(ConsistOf(And(
				HaveField("Task", "chat-1"), HaveField("SubAgent", "chat-1"), HaveField("Kind", v1beta1.WaitingQuestion), HaveField("Text", "Which year is it?"))))
		})

		It("scenario A: the user's answer reaches the agent through the orchestrator, which acknowledges it", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Summarise what was released this year.")
			r.question(ctx, "chat-1")
			r.sendMessage(ctx, "answer", "It is 2024")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Thanks, I have told the researcher."), ReplyingTo("answer")))
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Three releases came out"), ReplyingTo("request")))
			Expect(r.agent(ctx, "chat-1").Status.Result.Summary).To(Equal("Three releases came out in 2024."))
			Eventually(r.chat).WithContext(ctx).Should(BeIn(v1beta1.ChatIdle))
		})

		It("scenario A: a reply to the posted question goes to the agent that asked", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Delegate to general: Ask: Which colour?")
			post := r.question(ctx, "chat-1")
			r.create(ctx, MakeMessage("answer").Content("Green, please.").InReplyTo(post.Name).Obj())
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(must(ctx, r.task("chat-1")).Status.Result.Summary).To(Equal("Green, please."))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Thanks, I have passed that on."), ReplyingTo("answer")))
		})

		It("scenario B: the orchestrator answers from the conversation without asking the user", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "My name is Alice. Write me a welcome note.")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Here is your note: Welcome, Alice!"), ReplyingTo("request")))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Answered from the conversation: Alice"), About("chat-1"), HaveField("Spec.Role", v1beta1.RoleSystem)))
			Expect(must(ctx, r.posts)).NotTo(HavePost(WithText("needs input")))
		})

		It("an answer of low confidence is not forwarded: the user is asked", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Book the usual room.")
			post := r.question(ctx, "chat-1")
			Expect(post.Spec.Content).To(Equal("Agent General Agent needs input: Which room is the usual one?"))
			Expect(must(ctx, r.posts)).NotTo(HavePost(WithText("Answered from the conversation")))
			r.sendMessage(ctx, "answer", "Room 12")
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(must(ctx, r.task("chat-1")).Status.Result.Summary).To(Equal("Room 12 is booked for tomorrow at ten."))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Thanks, I have passed that on."), ReplyingTo("answer")))
		})

		It("the retry limit: the same question is answered automatically maxPerQuestion times, then the user is asked", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeChat("chat").MaxPerQuestion(2).Obj())
			r.sendMessage(ctx, "request", "Delegate to general: Ask until yes: Shall I (known)?")
			post := r.question(ctx, "chat-1")
			Expect(post.Spec.Content).To(Equal("Agent General Agent needs input: Shall I (known)?"))
			Eventually(func(ctx context.Context) ([]v1beta1.AgentMessage, error) {
				posts, err := r.posts(ctx)
				return slices.DeleteFunc(posts, func(p v1beta1.AgentMessage) bool { return p.Spec.Role != v1beta1.RoleSystem }), err
			}).WithContext(ctx).Should(HaveLen(2), "automatic answers")
			r.create(ctx, MakeMessage("answer").Content("yes, do").InReplyTo(post.Name).Obj())
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(must(ctx, r.task("chat-1")).Status.Result.Summary).To(Equal("Agreed: yes, do"))
		})
	})
}
