// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// badMessages are messages that arrive too early or too late, are too long, or have the wrong address.
func badMessages(w *world) []TableEntry {
	return []TableEntry{
		Entry("a message to a chat that does not exist yet", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.sendMessage(ctx, "early", "Greet Alice")
			Eventually(r.message("early")).WithContext(ctx).Should(BeDone(v1beta1.MessagePending, v1beta1.ReasonChatNotFound, `"chat"`))
			r.openChat(ctx)
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!"), ReplyingTo("early")))
		})),
		Entry("a message to a chat of another namespace", badInput(func(ctx context.Context, r *testNamespace) {
			other := w.newNamespace(ctx)
			other.openChat(ctx)
			r.sendMessage(ctx, "lost", "Greet Alice")
			Eventually(r.message("lost")).WithContext(ctx).Should(BeDone(v1beta1.MessagePending, v1beta1.ReasonChatNotFound, "in this namespace"))
			Expect(must(ctx, other.posts)).To(BeEmpty())
		})),
		Entry("a message to a chat that was deleted", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.openChat(ctx)
			r.sendMessage(ctx, "first", "Greet Alice")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!")))
			Expect(w.API.Delete(ctx, must(ctx, r.chat))).To(Succeed())
			Eventually(r.posts).WithContext(ctx).Should(BeEmpty())
			r.sendMessage(ctx, "late", "Greet Bob")
			Eventually(r.message("late")).WithContext(ctx).Should(BeDone(v1beta1.MessagePending, v1beta1.ReasonChatNotFound, `"chat"`))
		})),
		Entry("a message to a standalone task that does not exist yet", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj(), MakeMessage("early").Task("work").Content("Green").Obj())
			Eventually(r.message("early")).WithContext(ctx).Should(BeDone(v1beta1.MessagePending, v1beta1.ReasonTaskNotFound, `"work"`))
			r.create(ctx, MakeTask("work", "Ask: Which colour?").Obj())
			Eventually(r.message("early")).WithContext(ctx).ShouldNot(BeIn(v1beta1.MessagePending))
		})),
		Entry("a message to a task that has asked nothing", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj(), MakeTask("work", "Hang").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskRunning))
			r.create(ctx, MakeMessage("answer").Task("work").Content("Green").Obj())
			Eventually(r.message("answer")).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, v1beta1.ReasonNotWaiting, `"work" has no open question`))
			Expect(w.API.Delete(ctx, must(ctx, r.task("work")))).To(Succeed())
		})),
		Entry("a message to a task that has ended", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj(), MakeTask("work", "Submit done").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			r.create(ctx, MakeMessage("late").Task("work").Content("Green").Obj())
			Eventually(r.message("late")).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, v1beta1.ReasonTaskFinished, `"work" has ended`))
		})),
		Entry("a message to a chat's task, past the orchestrator", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Delegate to general: Ask: Which colour?")
			r.question(ctx, "chat-1")
			r.create(ctx, MakeMessage("direct").Task("chat-1").Content("Green").Obj())
			Eventually(r.message("direct")).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, v1beta1.ReasonTaskNotFound, `"chat-1"`))
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
		})),
		Entry("a reply to a message that does not exist", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.openChat(ctx)
			r.create(ctx, MakeMessage("reply").Content("Greet Alice").InReplyTo("nothing").Obj())
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!"), ReplyingTo("reply")))
		})),
		Entry("a reply to a question that was answered before", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Delegate to general: Ask: Which colour?")
			question := r.question(ctx, "chat-1")
			r.create(ctx, MakeMessage("green").Content("Green").InReplyTo(question.Name).Obj())
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			r.create(ctx, MakeMessage("blue").Content("Greet Bob").InReplyTo(question.Name).Obj())
			Eventually(r.message("blue")).WithContext(ctx).Should(BeDone(v1beta1.MessageHandled, v1beta1.ReasonHandled))
			Expect(must(ctx, r.task("chat-1")).Status.Result.Summary).To(Equal("Green"))
		})),
		Entry("as much content as a message may have", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.openChat(ctx)
			r.sendMessage(ctx, "huge", "Greet "+strings.Repeat("ä", 65536-len("Greet ")))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, ä"), ReplyingTo("huge")))
		})),
		Entry("more content than a message may have", badInput(func(ctx context.Context, r *testNamespace) {
			message := MakeMessage("huge").Content(strings.Repeat("x", 65537)).Obj()
			message.Namespace = r.namespace
			err := w.API.Create(ctx, message)
			Expect(apierrors.IsInvalid(err)).To(BeTrue())
			Expect(err).To(MatchError(ContainSubstring("spec.content: Too long: may not be more than 65536")))
		})),
		Entry("unusual characters", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.openChat(ctx)
			r.sendMessage(ctx, "odd", "\u202e 🦉 <script>")
			Eventually(r.message("odd")).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
		})),
	}
}
