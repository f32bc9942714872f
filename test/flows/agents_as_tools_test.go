// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// agentsAsTools covers roles that are called like tools, and approvals of their calls (seed 003).
func agentsAsTools(w *world) {
	Describe("003 Agents as tools", func() {
		DescribeTable("a role used as a tool returns a summary instead of its conversation",
			func(ctx SpecContext, request, tool, role, arguments, answer, hidden string) {
				r := w.newNamespace(ctx)
				r.openChat(ctx)
				r.sendMessage(ctx, "request", request)
				Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText(answer), ReplyingTo("request")))
				requests := must(ctx, w.requestsOf(must(ctx, r.chat).UID))
				Expect(requests[0].tools()).To(ContainElement(tool))
				task := must(ctx, r.task("chat-1"))
				Expect(task.Spec.Role).To(Equal(role))
				Expect(task.Spec.Arguments.Raw).To(MatchJSON(arguments))
				Expect(requests).NotTo(ContainElement(WithTransform(modelRequest.conversation, ContainSubstring(hidden))))
				Expect(must(ctx, w.requestsOf(r.agent(ctx, "chat-1").UID))).To(ContainElement(WithTransform(modelRequest.conversation, ContainSubstring(hidden))))
			},
			Entry("CodeSearch", "Where are configuration files loaded?", "CodeSearch", "code-search", `{"query":"Where are configuration files loaded?","scope":"."}`,
				"Configuration is loaded in config.go by loadConfig", `There is no tool "glob" for you`),
			Entry("CodeReview", "Review main.go for bugs.", "CodeReview", "code-review", `{"target":"main.go","focus":"bugs"}`,
				"One serious finding: main.go ignores the error", `There is no tool "read" for you`),
			Entry("Planner", "Plan a treasure hunt", "Planner", "planner", `{"task":"a treasure hunt"}`,
				"Plan: dig under the oak.", "A map would help."),
		)

		It("read-only tools run without approval", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeToolServer("box", w.tools.URL), MakeRole("code-search").Allow("box__*").Obj())
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Search for where the treasure is")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("The treasure is under the oak."), ReplyingTo("request")))
			Expect(must(ctx, r.posts)).NotTo(HavePost(WithText("approval")))
			Eventually(r.sub("chat-1")).WithContext(ctx).Should(HaveField("Status.ToolCalls", ContainElement(And(
				HaveField("Tool", "box__look"), HaveField("Phase", v1beta1.ToolCallSuccess), HaveField("Result", "saw the map")))))
			Expect(must(ctx, w.requestsOf(must(ctx, r.chat).UID))).NotTo(ContainElement(WithTransform(modelRequest.conversation, ContainSubstring("The map was hard to read"))))
		})

		It("a write tool at depth 2 asks for approval in the chat, and runs once when it is approved", func(ctx SpecContext) {
			r, path := writeBelow(ctx, w)
			post := r.question(ctx, "chat-1-1")
			waiting := must(ctx, r.task("chat-1-1")).Status.Waiting
			Expect(waiting.Kind).To(Equal(v1beta1.WaitingApproval))
			Expect(post.Spec.Content).To(And(ContainSubstring("Agent Tester asks for approval of `box__write`"), ContainSubstring(path), ContainSubstring(waiting.ToolCall)))
			Eventually(r.sub("chat-1-1")).WithContext(ctx).Should(BeDone(v1beta1.SubAgentWaitingForApproval, v1beta1.ReasonWaitingForApproval, "box__write"))
			Eventually(r.sub("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.SubAgentWaitingForSubAgents))
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskRunning))
			Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Waiting", ConsistOf(And(
				HaveField("Task", "chat-1-1"), HaveField("SubAgent", "chat-1-1"), HaveField("Kind", v1beta1.WaitingApproval), HaveField("ToolCall", waiting.ToolCall)))))
			Expect(w.tools.writeCount(path)()).To(BeZero())

			r.create(ctx, MakeMessage("yes").Approve("chat-1-1", waiting.ToolCall).Obj())
			Eventually(r.message("yes")).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("wrote "+path), ReplyingTo("request")))
			Expect(w.tools.writeCount(path)()).To(Equal(1))
			Eventually(r.chat).WithContext(ctx).Should(BeIn(v1beta1.ChatIdle))
		})

		It("a write tool at depth 2 that is denied does not run, and the model gets the reason", func(ctx SpecContext) {
			r, path := writeBelow(ctx, w)
			r.question(ctx, "chat-1-1")
			call := must(ctx, r.task("chat-1-1")).Status.Waiting.ToolCall
			r.create(ctx, MakeMessage("no").Deny("chat-1-1", call, "not on a Friday").Obj())
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("not on a Friday"), ReplyingTo("request")))
			Expect(w.tools.writeCount(path)()).To(BeZero())
			Eventually(r.sub("chat-1-1")).WithContext(ctx).Should(HaveField("Status.ToolCalls", ContainElement(And(HaveField("ID", call), HaveField("Phase", v1beta1.ToolCallDenied)))))
		})

		It("a write tool of the orchestrator is a task that waits; its approval needs no call id", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeToolServer("box", w.tools.URL), MakeRole("orchestrator").Allow("box__*").Obj())
			r.openChat(ctx)
			path := r.namespace + "/own.txt"
			r.sendMessage(ctx, "request", "Write "+path)
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeDone(v1beta1.TaskWaiting, v1beta1.ReasonWaitingForApproval, "box__write"))
			Expect(r.question(ctx, "chat-1").Spec.Content).To(ContainSubstring(path))
			r.create(ctx, MakeMessage("yes").Approve("chat-1", "").Obj())
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(w.tools.writeCount(path)()).To(Equal(1))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("wrote "+path), ReplyingTo("request")))
		})
	})
}

// writeBelow makes an agent at depth 2 request to write a file.
func writeBelow(ctx context.Context, w *world) (*testNamespace, string) {
	GinkgoHelper()
	r := w.newNamespace(ctx)
	r.create(ctx, MakeToolServer("box", w.tools.URL), MakeRole("tester").Allow("box__*").Obj())
	r.openChat(ctx)
	path := r.namespace + "/below.txt"
	r.sendMessage(ctx, "request", "Delegate to coder: Delegate to tester: Write "+path)
	Eventually(r.task("chat-1-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
	return r, path
}
