// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// nestedAgents covers the nested agent architecture (seed 000).
func nestedAgents(w *world) {
	Describe("000 Nested agents", func() {
		It("flow 1: a request becomes a task that names the message that caused it", func(ctx SpecContext) {
			r := research(ctx, w)
			Eventually(r.message("request")).WithContext(ctx).Should(BeDone(v1beta1.MessageHandled, v1beta1.ReasonHandled))
			task := must(ctx, r.task("chat-1"))
			Expect(task.Spec.Type).To(Equal(v1beta1.TaskAgent))
			Expect(task.Spec.Role).To(Equal("researcher"))
			Expect(task.Spec.Instruction).To(ContainSubstring("lighthouse of Alexandria"))
			Expect(task.Spec.SuccessCriteria).NotTo(BeEmpty())
			Expect(task.Spec.TriggerMessage).To(Equal("request"))
			Expect(task.Labels).To(And(HaveKeyWithValue(v1beta1.LabelChat, "chat"), HaveKeyWithValue(v1beta1.LabelRole, "researcher")))
			Expect(metav1.IsControlledBy(task, must(ctx, r.chat))).To(BeTrue())
		})

		It("flow 1: a finished agent is continued with its history", func(ctx SpecContext) {
			r := research(ctx, w)
			Eventually(r.chat).WithContext(ctx).Should(BeIn(v1beta1.ChatIdle))
			r.sendMessage(ctx, "more", "Add how tall it was.")
			Eventually(r.task("chat-2")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			task := must(ctx, r.task("chat-2"))
			Expect(task.Spec.ContinueFrom).To(Equal("chat-1"))
			Expect(task.Spec.TriggerMessage).To(Equal("more"))
			requests := must(ctx, w.requestsOf(r.agent(ctx, "chat-2").UID))
			Expect(requests[0].conversation()).To(And(ContainSubstring("Research the history of the lighthouse"), ContainSubstring("how tall it was")))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("at least 100 metres"), ReplyingTo("more")))
		})

		It("flow 2: the task starts a sub-agent with its own name, and links to it", func(ctx SpecContext) {
			r := research(ctx, w)
			task, sub := must(ctx, r.task("chat-1")), r.agent(ctx, "chat-1")
			Expect(task.Status.SubAgent).To(Equal("chat-1"))
			Expect(sub.Spec.Task).To(Equal("chat-1"))
			Expect(sub.Spec.Chat).To(Equal("chat"))
			Expect(sub.Spec.Depth).To(BeEquivalentTo(1))
			Expect(metav1.IsControlledBy(sub, task)).To(BeTrue())
			requests := must(ctx, w.requestsOf(sub.UID))
			Expect(requests[0].Body.Messages[0].Role).To(Equal("system"))
			Expect(requests[0].Body.Messages[0].Content).To(ContainSubstring("You are operating as a **researcher** sub-agent (depth 1/2)"))
			Expect(requests[0].Body.Messages[1].Role).To(Equal("user"))
			Expect(requests[0].Body.Messages[1].Content).To(ContainSubstring("Research the history of the lighthouse of Alexandria."))
		})

		It("flow 3: the sub-agent alternates between its model and its tools until it submits", func(ctx SpecContext) {
			r := research(ctx, w)
			sub := r.agent(ctx, "chat-1")
			Expect(sub.Status.Iterations).To(BeEquivalentTo(3))
			Expect(sub.Status.Messages).To(ContainElements(
				HaveField("Role", v1beta1.TranscriptUser), HaveField("Role", v1beta1.TranscriptAssistant), HaveField("Role", v1beta1.TranscriptTool)))
			Expect(sub.Status.Result.Summary).To(Equal("Begun under Ptolemy I, finished under Ptolemy II around 280 BC, ruined by earthquakes."))
			Expect(sub.Status.Usage.ModelCalls).To(BeEquivalentTo(3))
			task := must(ctx, r.task("chat-1"))
			Expect(task.Status.Result).To(Equal(sub.Status.Result))
			Expect(task.Status.Iterations).To(Equal(sub.Status.Iterations))
		})

		It("flow 4: every tool call is shown, and its result is returned to the model", func(ctx SpecContext) {
			r := research(ctx, w)
			sub := r.agent(ctx, "chat-1")
			Expect(sub.Status.ToolCalls).To(ContainElements(
				And(HaveField("Tool", "web_search"), HaveField("Phase", v1beta1.ToolCallFailed), HaveField("Error", ContainSubstring("no tool"))),
				And(HaveField("Tool", "think"), HaveField("Phase", v1beta1.ToolCallSuccess), HaveField("Result", Not(BeEmpty())))))
			requests := must(ctx, w.requestsOf(sub.UID))
			last := requests[2].Body.Messages
			Expect(last[len(last)-1].Role).To(Equal("tool"))
		})

		It("flow 4: a tool of the orchestrator runs as a task", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "sum", "What is 17 * 23?")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("17 * 23 is 391."), ReplyingTo("sum")))
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			task := must(ctx, r.task("chat-1"))
			Expect(task.Spec.Type).To(Equal(v1beta1.TaskTool))
			Expect(task.Spec.Tool).To(Equal("calculator"))
			Expect(task.Spec.TriggerMessage).To(Equal("sum"))
			Expect(task.Status.Result.Summary).To(Equal("391"))
			Expect(task.Status.SubAgent).To(BeEmpty())
		})

		It("flow 5: the orchestrator reads the result and answers the message that caused the work", func(ctx SpecContext) {
			r := research(ctx, w)
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("The lighthouse of Alexandria was begun under Ptolemy I"), ReplyingTo("request")))
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
			Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Tasks.Success", BeEquivalentTo(1)))
			posts := must(ctx, r.posts)
			Eventually(r.chat).WithContext(ctx).Should(And(
				HaveField("Status.Messages", BeEquivalentTo(len(posts)+1)), HaveField("Status.LastMessage", posts[len(posts)-1].Name)))
			Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Usage.ModelCalls", BeEquivalentTo(6)), "three of the orchestrator, three of the researcher")
		})
	})
}

func research(ctx context.Context, w *world) *testNamespace {
	GinkgoHelper()
	r := w.newNamespace(ctx)
	r.openChat(ctx)
	r.sendMessage(ctx, "request", "Research the history of the lighthouse of Alexandria.")
	Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
	Eventually(r.sub("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.SubAgentCompleted))
	return r
}
