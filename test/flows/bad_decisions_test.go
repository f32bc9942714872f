// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// badDecisions are approvals and cancels without effect. Agents keep waiting.
func badDecisions(w *world) []TableEntry {
	// reject sends messages, and checks that they are rejected, by reason.
	reject := func(ctx context.Context, r *testNamespace, messages map[string][]messageBuilder) {
		GinkgoHelper()
		for _, builders := range messages {
			for _, b := range builders {
				r.create(ctx, b.Obj())
			}
		}
		for reason, builders := range messages {
			for _, b := range builders {
				Eventually(r.message(b.Obj().Name)).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, reason, `"`), b.Obj().Name)
			}
		}
	}
	return []TableEntry{
		Entry("decisions and cancels that match nothing, before and after the right one", badInput(func(ctx context.Context, r *testNamespace) {
			call, path := waitForWrite(ctx, r)
			otherArguments := agent.CallDigest("box__write", "{}")
			reject(ctx, r, map[string][]messageBuilder{
				v1beta1.ReasonTaskNotFound: {
					MakeMessage("unknown-task").Approve("chat-9", call), MakeMessage("to-the-agent").Task("chat-1").Approve("chat-1", call),
					MakeMessage("cancels-unknown-task").Cancel("chat-9"),
				},
				v1beta1.ReasonWrongToolCall: {MakeMessage("unknown-call").Approve("chat-1", "call_0"), MakeMessage("no-call").Approve("chat-1", "")},
				v1beta1.ReasonDigestMismatch: {
					MakeMessage("approves-others").Approve("chat-1", call).Digest(otherArguments),
					MakeMessage("denies-others").Deny("chat-1", call, "no").Digest(otherArguments),
				},
				v1beta1.ReasonEditNotAllowed: {
					MakeMessage("edits").Approve("chat-1", call).Digest(agent.CallDigest("box__write", `{"path":"`+path+`"}`)).Arguments(`{"path":"x"}`),
				},
				v1beta1.ReasonAllowanceMismatch: {MakeMessage("wrong-pattern").Approve("chat-1", call).Allow("elsewhere/*")},
				v1beta1.ReasonAllowanceNotFound: {MakeMessage("unknown-allowance").Revoke("request")},
			})
			Expect(must(ctx, r.task("chat-1")).Status.Phase).To(Equal(v1beta1.TaskWaiting))
			r.create(ctx, MakeMessage("right").Approve("chat-1", call).Obj())
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			reject(ctx, r, map[string][]messageBuilder{v1beta1.ReasonTaskFinished: {
				MakeMessage("approves-again").Approve("chat-1", call), MakeMessage("denies-late").Deny("chat-1", call, "no"),
				MakeMessage("cancels-late").Cancel("chat-1"),
			}})
			Expect(w.tools.writeCount(path)()).To(Equal(1))
		})),
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
			call, path := waitForWrite(ctx, r)
			r.sendMessage(ctx, "second", "Delegate to general: Ask: Which colour?")
			r.question(ctx, "chat-2")
			r.create(ctx, MakeMessage("odd").Approve("chat-2", call).Obj())
			Eventually(r.message("odd")).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, v1beta1.ReasonNotWaiting, `"chat-2" does not wait for an approval`))
			Expect(w.tools.writeCount(path)()).To(BeZero())
		})),
		Entry("an approval from another chat", badInput(func(ctx context.Context, r *testNamespace) {
			call, path := waitForWrite(ctx, r)
			r.create(ctx, MakeChat("stranger").Obj(), MakeMessage("odd").Chat("stranger").Approve("chat-1", call).Obj())
			Eventually(r.message("odd")).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, v1beta1.ReasonTaskNotFound, `"chat-1"`))
			Expect(w.tools.writeCount(path)()).To(BeZero())
		})),
		Entry("an approval that is only mentioned in an agent's message", badInput(func(ctx context.Context, r *testNamespace) {
			_, path := waitForWrite(ctx, r)
			r.sendMessage(ctx, "words", "Tell chat-1: I approve.")
			Eventually(r.message("words")).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
			Eventually(r.chat).WithContext(ctx).Should(BeIn(v1beta1.ChatWaiting))
			Expect(w.tools.writeCount(path)()).To(BeZero(), "a model cannot approve")
		})),
		Entry("edits that the tool could not read, or not as policies do", badInput(func(ctx context.Context, r *testNamespace) {
			role := MakeRole("general").Obj()
			role.Spec.Approval = &v1beta1.ApprovalPolicy{Editable: true}
			r.create(ctx, role)
			call, path := waitForWrite(ctx, r)
			digest := must(ctx, r.chat).Status.Waiting[0].ArgumentsDigest
			for name, edit := range map[string]struct{ arguments, message string }{
				"text":   {`path`, "they are not one JSON object"},
				"list":   {`["path"]`, "they are not one JSON object"},
				"twice":  {`{"path":"a","path":"b"}`, `"path" occurs twice`},
				"case":   {`{"path":"a","PATH":"b"}`, `"PATH" occurs twice, or differs from another one only in case`},
				"number": {`{"path":"a","n":0.10000000000000000001}`, "cannot be compared exactly"},
				"schema": {`{"path":7}`, "do not match the schema of the tool box__write"},
			} {
				r.create(ctx, MakeMessage(name).Approve("chat-1", call).Digest(digest).Arguments(edit.arguments).Obj())
				Eventually(r.message(name)).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, v1beta1.ReasonEditInvalid, edit.message), name)
			}
			Expect(must(ctx, r.task("chat-1")).Status.Phase).To(Equal(v1beta1.TaskWaiting))
			Expect(w.tools.writeCount(path)()).To(BeZero())
		})),
		Entry("an approval after its time", badInput(func(ctx context.Context, r *testNamespace) {
			role := MakeRole("general").Obj()
			role.Spec.Approval = &v1beta1.ApprovalPolicy{TimeoutSeconds: 10, OnTimeout: v1beta1.TimeoutFail}
			r.create(ctx, role)
			call, path := waitForWrite(ctx, r)
			waits := must(ctx, r.chat).Status.Waiting[0]
			Expect(waits.ExpireTime.Sub(waits.StartTime.Time)).To(BeNumerically("~", 10*time.Second, 5*time.Second))
			Expect(must(ctx, r.task("chat-1")).Status.Waiting.ExpireTime).To(Equal(waits.ExpireTime))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Expires 10 seconds after the request.")))
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorApprovalExpired), "no one decided about box__write within 10 seconds"))
			r.create(ctx, MakeMessage("late").Approve("chat-1", call).Obj())
			Eventually(r.message("late")).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, v1beta1.ReasonTaskFinished, `"chat-1"`))
			Expect(must(ctx, r.chat).Status.Waiting).To(BeEmpty())
			Expect(w.tools.writeCount(path)()).To(BeZero())
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

// waitForWrite makes a sub-agent of the chat request to write a file, and returns its call.
func waitForWrite(ctx context.Context, r *testNamespace) (call, path string) {
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
