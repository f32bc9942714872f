// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/stack"
)

// handover covers two operators on a SQLite ledger.
func handover(w *world) {
	Describe("Two operators", func() {
		It("one at a time works, and the first one continues when the second is gone", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "first", "Greet Alice")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!")))

			rival, err := w.LaunchRival()
			Expect(err).NotTo(HaveOccurred())
			defer func() { Expect(rival.Kill()).To(Succeed()) }()
			Eventually(w.history.Replicas).WithContext(ctx).Should(HaveLen(2))
			r.sendMessage(ctx, "second", "Greet Bob")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Bob!"), ReplyingTo("second")))

			Expect(rival.Kill()).To(Succeed())
			r.sendMessage(ctx, "third", "Greet Carol")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Carol!"), ReplyingTo("third")))
			Expect(must(ctx, w.requestsOf(must(ctx, r.chat).UID))).To(HaveLen(3), "no request is repeated")
		})
	})
}

// sharing covers two operators on a PostgreSQL ledger.
func sharing(w *world) {
	Describe("Two operators", func() {
		It("share the work, and one continues with all of it when the other is gone", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "first", "Greet Alice")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!")))
			rival, err := w.LaunchRival()
			Expect(err).NotTo(HaveOccurred())
			defer func() { Expect(rival.Kill()).To(Succeed()) }()
			Eventually(w.shardsByOwner).WithContext(ctx).Should(HaveExactElements(stack.Shards/2, stack.Shards/2))
			r.sendMessage(ctx, "second", "Greet Bob")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Bob!"), ReplyingTo("second")))

			Expect(rival.Kill()).To(Succeed())
			r.sendMessage(ctx, "third", "Greet Carol")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Carol!"), ReplyingTo("third")))
			Eventually(w.shardsByOwner).WithContext(ctx).Should(HaveExactElements(stack.Shards))
			Expect(must(ctx, w.requestsOf(must(ctx, r.chat).UID))).To(HaveLen(3), "no request is repeated")
		})

		It("make each trial of an evaluation once, and one continues with it when the other is gone", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			role, evaluation := MakeGatedRole("poet", "You write odes."), MakeEvaluation("poems")
			role.Spec.Promotion.Evaluation, evaluation.Spec.Repeats = "poems", ptr.To[int32](3)
			r.create(ctx, role)
			r.promoted(ctx, "poet", upToDate)
			r.recordPoems(ctx)
			r.create(ctx, evaluation)
			Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
			rival, err := w.LaunchRival()
			Expect(err).NotTo(HaveOccurred())
			defer func() { Expect(rival.Kill()).To(Succeed()) }()
			Eventually(w.shardsByOwner).WithContext(ctx).Should(HaveExactElements(stack.Shards/2, stack.Shards/2))
			change(ctx, r, r.role("poet"), func(role *v1beta1.AgentRole) { role.Spec.SystemPrompt = "You write sonnets." })
			Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveField("Status.CompletedTasks", BeNumerically(">", 0)))
			Expect(rival.Kill()).To(Succeed())

			promoted := r.promoted(ctx, "poet", upToDate)
			status := must(ctx, r.evaluation("poems")).Status
			Expect(status).To(And(HaveField("Verdict", v1beta1.VerdictPassed), HaveField("CandidateRevision", promoted.PromotedRevision)))
			Expect(r.revisionsOf(ctx, "poet")).To(ConsistOf(promoted.PreviousRevision, promoted.PromotedRevision))
			tasks := r.lanes(ctx, "poems")
			Expect(tasks).To(HaveLen(12))
			for _, task := range tasks {
				Expect(task.Status.Usage.ModelCalls).To(BeEquivalentTo(2), task.Name) // one that was in flight is sent again, with its key
			}
		})

		It("notify about each task in order, although the receiver is down until one of them is gone", func(ctx SpecContext) {
			r, to := w.newNamespace(ctx), newInbox()
			to.setClosed(true)
			receivers := r.notified(ctx, to, v1beta1.NotifyWaiting, v1beta1.NotifyFinished)
			rival, err := w.LaunchRival()
			Expect(err).NotTo(HaveOccurred())
			defer func() { Expect(rival.Kill()).To(Succeed()) }()
			Eventually(w.shardsByOwner).WithContext(ctx).Should(HaveExactElements(stack.Shards/2, stack.Shards/2))

			tasks := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
			for _, name := range tasks {
				task := MakeTask(name, "Ask: Which colour?").Role("tester").Obj()
				task.Spec.Notify = receivers
				r.create(ctx, task)
			}
			for _, name := range tasks {
				Eventually(r.task(name)).WithContext(ctx).Should(HaveField("Annotations", HaveKeyWithValue(v1beta1.AnnotationNotified, ContainSubstring("waiting-"))))
			}
			Expect(rival.Kill()).To(Succeed())
			for _, name := range tasks {
				r.create(ctx, MakeMessage("answer-"+name).Task(name).Content("Green").Obj())
			}
			to.setClosed(false)
			for _, name := range tasks {
				Eventually(to.got(name)).WithContext(ctx).Should(Equal([]string{"1 Waiting", "2 Finished"}))
			}
		})
	})
}

// shardsByOwner returns how many shards each operator owns, the fewest first.
func (w *world) shardsByOwner(ctx context.Context) ([]int, error) {
	owners, err := w.history.Owners(ctx)
	counts := map[string]int{}
	for _, owner := range owners {
		if owner.Live {
			counts[owner.Name]++
		}
	}
	return slices.Sorted(maps.Values(counts)), err
}
