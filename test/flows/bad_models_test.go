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

// badModels are models that hang, refuse or are busy. The conformance suite of internal/model has all ways in which a reply
// can fail, and whether it is retried.
func badModels(w *world) []TableEntry {
	return []TableEntry{
		Entry("models that hang, are too busy, refuse, or reply with nothing", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Retries(0).Obj(), MakeProvider("slow", w.ModelURL).Retries(0).TimeoutSeconds(1).Obj(),
				MakeTask("hangs", "Hang").Provider("slow").Obj())
			failures := map[string]struct {
				instruction string
				kind        v1beta1.ErrorKind
				texts       string
			}{
				"busy":         {"Be rate limited", v1beta1.ErrorModel, "Rate limit reached."},
				"unauthorized": {"Be unauthorized", v1beta1.ErrorModel, "Incorrect API key provided."},
				"empty":        {"Say nothing", v1beta1.ErrorEmptyReply, "limit of 3 iterations: each of the last 3 replies was empty"},
				"refuses":      {"Fail with a refusal", v1beta1.ErrorModel, "I cannot help with that."},
			}
			for name, f := range failures {
				r.create(ctx, MakeTask(name, f.instruction).MaxIterations(3).Obj())
			}
			for name, f := range failures {
				Eventually(r.task(name)).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(f.kind), f.texts), name)
			}
			Eventually(r.task("hangs")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorModel)))
		})),
		Entry("a rate limit that passes", badInput(func(ctx context.Context, r *testNamespace) {
			// On a busy machine an attempt that would pass may be too late as well.
			r.create(ctx, MakeProvider("default", w.ModelURL).Retries(20).Obj())
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Fail with a rate limit")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("It did not fail this time."), ReplyingTo("request")))
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
		})),
		Entry("a provider that is down and has a fallback, without retries", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("spare", w.ModelURL).Obj(), MakeProvider("default", "http://127.0.0.1:9/v1").Retries(0).Fallback("spare").Obj())
			r.create(ctx, MakeTask("work", "Submit all of it").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
		})),
		Entry("a chat and a task report that their model calls wait for a retry", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Retries(100).Obj())
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Be rate limited")
			r.create(ctx, MakeTask("work", "Be down").Obj())
			Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Conditions", ContainElement(waiting(v1beta1.ReasonRateLimited, "Rate limit reached"))))
			Eventually(r.task("work")).WithContext(ctx).Should(HaveField("Status.Conditions", ContainElement(waiting(v1beta1.ReasonProviderUnavailable, "The server had an error"))))
			r.create(ctx, MakeMessage("stop").Cancel("").Obj(), MakeMessage("stop-work").Task("work").Cancel("").Obj())
			Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Conditions", Not(ContainElement(HaveField("Type", v1beta1.ConditionReconciling)))))
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskCancelled))
			Expect(must(ctx, r.task("work")).Status.Conditions).NotTo(ContainElement(HaveField("Type", v1beta1.ConditionReconciling)))
		})),
		Entry("a chat reports a permanent failure of its model, and the next message retries", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Retries(0).Obj())
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Be down")
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonModelError, "The server had an error."))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Send a message to try again."), ReplyingTo("request"), HaveField("Spec.Role", v1beta1.RoleSystem)))
			r.sendMessage(ctx, "again", "Greet Alice")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!"), ReplyingTo("again")))
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
		})),
		Entry("a provider that is deleted while an agent uses it", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Retries(0).Obj(), MakeRole("dependent").Prompt("You depend on it.").Provider("default").Obj(),
				MakeTask("work", "Ask: Which colour?").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
			Eventually(r.role("dependent")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
			Expect(w.API.Delete(ctx, must(ctx, r.provider("default")))).To(Succeed())
			Eventually(r.role("dependent")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False "+v1beta1.ReasonProviderNotFound)), "the operator has seen the deletion")
			r.create(ctx, MakeMessage("answer").Task("work").Content("Green").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorModel), "ModelProvider"))
		})),
	}
}

// waiting matches the condition of a run whose model call waits.
func waiting(reason, texts string) OmegaMatcher {
	return And(HaveField("Type", v1beta1.ConditionReconciling), HaveField("Status", metav1.ConditionTrue), HaveField("Reason", reason),
		HaveField("Message", And(ContainSubstring(texts), MatchRegexp(`Attempt \d+ of 101 .* The next attempt begins at \d{4}-`))))
}
