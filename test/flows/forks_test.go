// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// MakeFork builds a fork of a run with recorded replies and results.
func MakeFork(name string, run *v1beta1.SubAgent) *v1beta1.AgentTask {
	return &v1beta1.AgentTask{ObjectMeta: named(name), Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Fork: &v1beta1.TaskFork{
		UID: string(run.UID), SubAgent: run.Name, ModelReplies: v1beta1.RepliesRecorded, ToolResults: v1beta1.ResultsRecorded,
	}}}
}

// forks covers forks of recorded runs.
func forks(w *world) {
	Describe("Forks", func() {
		It("an unchanged fork repeats the record and calls neither the model nor a tool; a changed one diverges", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeToolServer("box", w.tools.URL), MakeRole("viewer").Prompt("You look.").Allow("box__*").Obj())
			r.create(ctx, MakeTask("work", "Look at a tree").Role("viewer").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			original, run := must(ctx, r.task("work")), r.agent(ctx, "work")

			begins, sequences := map[string]int64{"anew": 0, "after-the-start": 1}, []string{}
			for name, at := range begins {
				fork := MakeFork(name, run)
				fork.Spec.Fork.Sequence = &at
				r.create(ctx, fork)
				sequences = append(sequences, name)
			}
			r.create(ctx, MakeFork("at-the-end", run))
			for _, name := range append(sequences, "at-the-end") {
				Eventually(r.task(name)).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
				task := must(ctx, r.task(name))
				Expect(task.Status.Result.Summary).To(Equal(original.Status.Result.Summary))
				Expect(task.Status.Usage.ModelCalls).To(BeZero())
				Expect(task.Status.ForkSequence).NotTo(BeNil())
				if at, ok := begins[name]; ok {
					Expect(*task.Status.ForkSequence).To(Equal(at))
				}
				Expect(must(ctx, w.requestsOf(r.agent(ctx, name).UID))).To(BeEmpty())
			}

			path := r.namespace + "/forked.txt"
			changed := MakeFork("changed", run)
			changed.Spec.Instruction = "Write " + path
			r.create(ctx, changed)
			Eventually(r.task("changed")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorDiverged), "Actual: box__write", path))
			Expect(must(ctx, w.requestsOf(r.agent(ctx, "changed").UID))).To(HaveLen(1))
			Expect(w.tools.writesBelow(r.namespace)()).To(BeZero())
		})

		It("a sub-agent in the middle of a deleted tree is forked, and so is its fork: no one is called again", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Delegate to coder: Delegate to tester: Submit a test")
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			coder, result := r.agent(ctx, "chat-1"), must(ctx, r.task("chat-1")).Status.Result.Summary
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
			Expect(r.API.Delete(ctx, must(ctx, r.chat))).To(Succeed())
			Eventually(func(ctx context.Context) bool {
				_, err := r.sub("chat-1")(ctx)
				return apierrors.IsNotFound(err)
			}).WithContext(ctx).Should(BeTrue())

			fork := MakeFork("fork", coder)
			fork.Spec.Fork.Sequence = new(int64)
			r.create(ctx, fork)
			Eventually(r.task("fork")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			r.create(ctx, MakeFork("again", r.agent(ctx, "fork")))
			Eventually(r.task("again")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			for _, name := range []string{"fork", "again"} {
				Expect(must(ctx, r.task(name)).Status.Result.Summary).To(Equal(result))
				Expect(must(ctx, w.requestsOf(r.agent(ctx, name).UID))).To(BeEmpty())
			}
			var tasks v1beta1.AgentTaskList
			Expect(r.API.List(ctx, &tasks, r.inNamespace())).To(Succeed())
			Expect(tasks.Items).To(HaveLen(2), "the delegation of the record is not repeated")
		})

		It("a run that the ledger does not have, or that is another one's, cannot be forked", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTask("work", "Submit done").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			run := r.agent(ctx, "work")
			unknown, other := MakeFork("unknown", run), MakeFork("other", run)
			unknown.Spec.Fork.UID, other.Spec.Fork.SubAgent = "00000000-0000-0000-0000-000000000000", "another"
			r.create(ctx, unknown, other)
			Eventually(r.task("unknown")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorInvalidSpec), "no run with the UID"))
			Eventually(r.task("other")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorInvalidSpec), "is not the UID"))
		})
	})
}
