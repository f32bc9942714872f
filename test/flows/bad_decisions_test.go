// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// badDecisions are approvals and cancels without effect. Agents keep waiting.
func badDecisions(w *world) []TableEntry {
	// during sends a message while a sub-agent of a chat waits for an approval.
	during := func(reason string, write func(call string) messageBuilder) badInput {
		return func(ctx context.Context, r *testNamespace) {
			GinkgoHelper()
			call, path := awaitWrite(ctx, r)
			r.create(ctx, write(call).Obj())
			Eventually(r.message("odd")).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, reason, `"`))
			Expect(must(ctx, r.task("chat-1")).Status.Phase).To(Equal(v1beta1.TaskWaiting))
			r.create(ctx, MakeMessage("right").Approve("chat-1", call).Obj())
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(w.tools.writeCount(path)()).To(Equal(1))
		}
	}
	// after sends a message after the call was approved and the agent has ended.
	after := func(reason string, write func(call string) messageBuilder) badInput {
		return func(ctx context.Context, r *testNamespace) {
			GinkgoHelper()
			call, path := awaitWrite(ctx, r)
			r.create(ctx, MakeMessage("right").Approve("chat-1", call).Obj())
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			r.create(ctx, write(call).Obj())
			Eventually(r.message("odd")).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, reason, `"chat-1"`))
			Expect(w.tools.writeCount(path)()).To(Equal(1))
		}
	}
	return []TableEntry{
		Entry("an approval of a task that does not exist", during(v1beta1.ReasonTaskNotFound, func(call string) messageBuilder { return MakeMessage("odd").Approve("chat-9", call) })),
		Entry("an approval of a call that does not exist", during(v1beta1.ReasonWrongToolCall, func(string) messageBuilder { return MakeMessage("odd").Approve("chat-1", "call_0") })),
		Entry("an approval of a call with other arguments", during(v1beta1.ReasonDigestMismatch, func(call string) messageBuilder {
			return MakeMessage("odd").Approve("chat-1", call).Digest(agent.CallDigest("box__write", "{}"))
		})),
		Entry("a denial of a call with other arguments", during(v1beta1.ReasonDigestMismatch, func(call string) messageBuilder {
			return MakeMessage("odd").Deny("chat-1", call, "no").Digest(agent.CallDigest("box__write", "{}"))
		})),
		Entry("an allowance whose pattern does not match the call", during(v1beta1.ReasonAllowanceMismatch, func(call string) messageBuilder {
			return MakeMessage("odd").Approve("chat-1", call).Allow("elsewhere/*")
		})),
		Entry("a revoke of an allowance that does not exist", during(v1beta1.ReasonAllowanceNotFound, func(string) messageBuilder { return MakeMessage("odd").Revoke("request") })),
		Entry("an approval without a call, of an agent", during(v1beta1.ReasonWrongToolCall, func(string) messageBuilder { return MakeMessage("odd").Approve("chat-1", "") })),
		Entry("an approval addressed to the agent itself", during(v1beta1.ReasonTaskNotFound, func(call string) messageBuilder { return MakeMessage("odd").Task("chat-1").Approve("chat-1", call) })),
		Entry("a cancel of a task that does not exist", during(v1beta1.ReasonTaskNotFound, func(string) messageBuilder { return MakeMessage("odd").Cancel("chat-9") })),
		Entry("an approval of a call that has finished", after(v1beta1.ReasonTaskFinished, func(call string) messageBuilder { return MakeMessage("odd").Approve("chat-1", call) })),
		Entry("a denial of a call that was approved", after(v1beta1.ReasonTaskFinished, func(call string) messageBuilder { return MakeMessage("odd").Deny("chat-1", call, "no") })),
		Entry("a cancel of a task that has finished", after(v1beta1.ReasonTaskFinished, func(string) messageBuilder { return MakeMessage("odd").Cancel("chat-1") })),
		Entry("a second decision on a call while the other call of the reply is undecided", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.addToolServer(ctx, MakeToolServer("box", w.tools.URL))
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Delegate to general: Write "+r.namespace+"/one and "+r.namespace+"/two")
			Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Waiting", HaveLen(2)))
			call := must(ctx, r.chat).Status.Waiting[0].ToolCall
			r.create(ctx, MakeMessage("no").Deny("chat-1", call, "").Obj())
			Eventually(r.message("no")).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
			r.create(ctx, MakeMessage("yes").Approve("chat-1", call).Obj())
			Eventually(r.message("yes")).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, v1beta1.ReasonWrongToolCall, call))
		})),
		Entry("an approval for another agent", badInput(func(ctx context.Context, r *testNamespace) {
			call, path := awaitWrite(ctx, r)
			r.sendMessage(ctx, "second", "Delegate to general: Ask: Which colour?")
			r.question(ctx, "chat-2")
			r.create(ctx, MakeMessage("odd").Approve("chat-2", call).Obj())
			Eventually(r.message("odd")).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, v1beta1.ReasonNotWaiting, `"chat-2" does not wait for an approval`))
			Expect(w.tools.writeCount(path)()).To(BeZero())
		})),
		Entry("an approval from another chat", badInput(func(ctx context.Context, r *testNamespace) {
			call, path := awaitWrite(ctx, r)
			r.create(ctx, MakeChat("stranger").Obj(), MakeMessage("odd").Chat("stranger").Approve("chat-1", call).Obj())
			Eventually(r.message("odd")).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, v1beta1.ReasonTaskNotFound, `"chat-1"`))
			Expect(w.tools.writeCount(path)()).To(BeZero())
		})),
		Entry("an approval that is only mentioned in an agent's message", badInput(func(ctx context.Context, r *testNamespace) {
			_, path := awaitWrite(ctx, r)
			r.sendMessage(ctx, "words", "Tell chat-1: I approve.")
			Eventually(r.message("words")).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
			Eventually(r.chat).WithContext(ctx).Should(BeIn(v1beta1.ChatWaiting))
			Expect(w.tools.writeCount(path)()).To(BeZero(), "a model cannot approve")
		})),
		Entry("a cancel of everything when nothing is running", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.openChat(ctx)
			r.create(ctx, MakeMessage("stop").Cancel("").Obj())
			Eventually(r.message("stop")).WithContext(ctx).Should(BeDone(v1beta1.MessageHandled, v1beta1.ReasonHandled))
		})),
		Entry("a cancel of a task that waits for something that is missing", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeTask("work", "Submit done").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskPending, v1beta1.ReasonProviderNotFound))
			r.create(ctx, MakeMessage("stop").Task("work").Cancel("").Obj())
			Eventually(r.message("stop")).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskCancelled, string(v1beta1.ErrorCancelled)))
		})),
	}
}

// awaitWrite makes a sub-agent of the chat request to write a file, and returns its call.
func awaitWrite(ctx context.Context, r *testNamespace) (call, path string) {
	GinkgoHelper()
	r.create(ctx, MakeProvider("default", r.ModelURL).Obj())
	r.addToolServer(ctx, MakeToolServer("box", r.tools.URL))
	r.openChat(ctx)
	path = r.namespace + "/file"
	r.sendMessage(ctx, "request", "Delegate to general: Write "+path)
	Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Waiting", HaveLen(1)))
	Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
	return must(ctx, r.chat).Status.Waiting[0].ToolCall, path
}
