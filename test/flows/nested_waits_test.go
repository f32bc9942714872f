// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// nestedWaits checks that a standalone task shows the asks of the agents below it.
func nestedWaits(w *world) {
	// waitsFor matches a task that waits for a sub-agent below it.
	waitsFor := func(kind v1beta1.WaitingKind, sub, text, reason string) types.GomegaMatcher {
		return And(BeDone(v1beta1.TaskWaiting, reason, sub, text), HaveField("Status.Waiting", HaveValue(And(
			HaveField("Kind", kind), HaveField("SubAgent", sub), HaveField("Text", ContainSubstring(text)), HaveField("StartTime", Not(BeNil()))))))
	}
	// writes creates standalone tasks whose tester requests to write a file.
	writes := func(ctx context.Context, r *testNamespace, names ...string) {
		GinkgoHelper()
		r.create(ctx, MakeToolServer("box", w.tools.URL), MakeRole("tester").Allow("box__*").Obj())
		for _, name := range names {
			r.create(ctx, MakeTask(name, "Delegate to tester: Write "+r.namespace+"/"+name).Role("coder").Obj())
		}
		for _, name := range names {
			Eventually(r.task(name)).WithContext(ctx).Should(waitsFor(v1beta1.WaitingApproval, name+"-1", r.namespace+"/"+name, v1beta1.ReasonWaitingForApproval))
		}
	}
	callOf := func(ctx context.Context, r *testNamespace, name string) string {
		GinkgoHelper()
		return must(ctx, r.task(name)).Status.Waiting.ToolCall
	}

	Describe("Below a standalone task", func() {
		It("a question is shown at the root, and a message to the root answers it", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTask("work", "Delegate to tester: Ask: Which colour?").Role("coder").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(waitsFor(v1beta1.WaitingQuestion, "work-1", "Which colour?", v1beta1.ReasonWaitingForUser))
			r.create(ctx, MakeMessage("answer").Task("work").Content("Green").Obj())
			Eventually(r.message("answer")).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
			Eventually(r.task("work-1")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", "Green")))
			Eventually(r.task("work")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Waiting", BeNil())))
		})

		It("several questions are shown one after the other, also after a restart of the operator", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTask("work", `Spawn [{"task":"Ask: Which colour?","role":"tester"},{"task":"Ask: Which size?","role":"tester"}]`).Role("coder").Obj())
			for _, name := range []string{"work-1", "work-2"} {
				Eventually(r.task(name)).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
			}
			Eventually(r.task("work")).WithContext(ctx).Should(HaveField("Status.Waiting", HaveValue(HaveField("SubAgent", HavePrefix("work-")))))
			first := must(ctx, r.task("work")).Status.Waiting.SubAgent
			second := map[string]string{"work-1": "work-2", "work-2": "work-1"}[first]
			Expect(w.Operator.Kill()).To(Succeed())
			Expect(w.StartOperator(ctx)).To(Succeed())
			r.create(ctx, MakeMessage("one").Task("work").Content("This").Obj())
			Eventually(r.task(first)).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", "This")))
			Eventually(r.task("work")).WithContext(ctx).Should(HaveField("Status.Waiting", HaveValue(HaveField("SubAgent", second))))
			r.create(ctx, MakeMessage("two").Task("work").Content("That").Obj())
			Eventually(r.task(second)).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", "That")))
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
		})

		It("an approval is shown at the root, and can be decided under the name of either task", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			writes(ctx, r, "one", "two")
			r.create(ctx, MakeMessage("yes-one").Task("one").Approve("one", callOf(ctx, r, "one")).Obj())
			r.create(ctx, MakeMessage("yes-two").Task("two").Approve("two-1", callOf(ctx, r, "two")).Obj())
			for _, name := range []string{"one", "two"} {
				Eventually(r.message("yes-" + name)).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
				Eventually(r.task(name)).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
				Expect(w.tools.writeCount(r.namespace + "/" + name)()).To(Equal(1))
			}
		})

		It("a message to one standalone task decides nothing in the tree of another", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			writes(ctx, r, "mine", "yours")
			r.create(ctx, MakeMessage("foreign").Task("mine").Approve("yours-1", callOf(ctx, r, "yours")).Obj())
			Eventually(r.message("foreign")).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, v1beta1.ReasonTaskNotFound, `"yours-1"`))
			r.create(ctx, MakeMessage("foreign-top").Task("mine").Approve("yours", callOf(ctx, r, "yours")).Obj())
			Eventually(r.message("foreign-top")).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, v1beta1.ReasonTaskNotFound, `"yours"`))
			r.create(ctx, MakeMessage("stop").Task("mine").Cancel("yours-1").Obj())
			Eventually(r.message("stop")).WithContext(ctx).Should(BeDone(v1beta1.MessageRejected, v1beta1.ReasonTaskNotFound, `"yours-1"`))
			Expect(must(ctx, r.task("yours")).Status.Phase).To(Equal(v1beta1.TaskWaiting))
			Expect(w.tools.writeCount(r.namespace + "/yours")()).To(BeZero())
		})

		It("a message to the root cancels an agent below it", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			writes(ctx, r, "work")
			r.create(ctx, MakeMessage("stop").Task("work").Cancel("work-1").Obj())
			Eventually(r.message("stop")).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
			Eventually(r.task("work-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskCancelled))
			Eventually(r.task("work")).WithContext(ctx).Should(And(HaveField("Status.Waiting", BeNil()), HaveField("Status.CompletionTime", Not(BeNil()))))
			Expect(w.tools.writeCount(r.namespace + "/work")()).To(BeZero())
		})
	})
}
