// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func reviews(w *world) {
	writer := func(onReject v1beta1.RejectPolicy) *v1beta1.AgentRole {
		role := MakeRole("writer").Prompt("You write.").Obj()
		role.Spec.Review = &v1beta1.ResultReview{Role: "judge", OnReject: onReject}
		return role
	}
	judge := func() *v1beta1.AgentRole { return MakeRole("judge").Prompt("You judge.").Obj() }

	Describe("Review of results", func() {
		It("a rejection goes back to the agent, and an approval ends it; both reviews are part of the tree", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			task := MakeTask("work", "Submit draft").Role("writer").Obj()
			task.Spec.SuccessCriteria = "It is final."
			r.create(ctx, judge(), writer(v1beta1.RejectFail), task)
			Eventually(r.task("work")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result", HaveValue(And(HaveField("Summary", "final"), HaveField("Warnings", BeEmpty()))))))
			Eventually(r.task("work-1")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveData(`{"verdict":"reject","reasons":["It is a draft."]}`)))
			Eventually(r.task("work-2")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveData(`{"verdict":"approve","reasons":[]}`)))
			work := must(ctx, r.task("work"))
			Expect(metav1.IsControlledBy(must(ctx, r.task("work-1")), r.agent(ctx, "work"))).To(BeTrue())
			Expect(must(ctx, r.task("work-1")).Spec).To(And(HaveField("Role", "judge"), HaveField("Instruction", And(ContainSubstring("Submit draft"), ContainSubstring("It is final."), ContainSubstring(`"text":"draft`)))))
			Expect(work.Status.Iterations).To(BeEquivalentTo(2))
			Expect(work.Status.Usage.ModelCalls).To(BeEquivalentTo(4), "two of the agent, two of its reviewers")
			requests := must(ctx, w.requestsOf(r.agent(ctx, "work").UID))
			Expect(requests[1].lastMessage()).To(And(ContainSubstring("rejected (review 1 of at most 2)"), ContainSubstring("It is a draft.")))
		})

		It("after the last round, Warn succeeds with the reasons and Fail fails with the result", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, judge(), writer(v1beta1.RejectWarn), MakeTask("warned", "Submit never").Role("writer").Obj())
			Eventually(r.task("warned")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Warnings", ConsistOf("The review rejected this result: It is a draft."))))
			change(ctx, r, r.role("writer"), func(role *v1beta1.AgentRole) { role.Spec.Review.OnReject = v1beta1.RejectFail })
			waitForObserved(ctx, r.role("writer"))
			r.create(ctx, MakeTask("failed", "Submit never").Role("writer").Obj())
			Eventually(r.task("failed")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorReviewRejected), "the review rejected the result: It is a draft."))
			Expect(must(ctx, r.task("failed")).Status.Result.Summary).To(Equal("never"))
		})

		It("a reviewer that fails, and a limit that leaves no room for one, are no approval", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			alone := MakeTask("alone", "Submit fine").Role("leader").Obj()
			alone.Spec.Limits = &v1beta1.TaskLimits{MaxTasks: ptr.To[int32](1)}
			leader := MakeRole("leader").Prompt("You lead.").Delegates("general").Obj()
			leader.Spec.Review = &v1beta1.ResultReview{Role: "judge"}
			r.create(ctx, judge(), writer(v1beta1.RejectFail), leader, MakeTask("confusing", "Submit confusing").Role("writer").Obj())
			Eventually(r.task("confusing")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorReviewRejected), "could not be reviewed", "I do not understand it."))
			alone.Spec.Instruction = "Delegate to general: Submit one"
			r.create(ctx, alone)
			Eventually(r.task("alone")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Warnings", ConsistOf(ContainSubstring("was not reviewed: one more task would exceed the limit")))))
		})

		It("the results of a reviewer are not reviewed", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			first, second := writer(v1beta1.RejectFail), judge()
			second.Spec.Review = &v1beta1.ResultReview{Role: "writer", OnReject: v1beta1.RejectFail}
			r.create(ctx, first, second, MakeTask("work", "Submit fine").Role("writer").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			var tasks v1beta1.AgentTaskList
			Expect(r.API.List(ctx, &tasks, r.inNamespace())).To(Succeed())
			Expect(tasks.Items).To(HaveLen(2))
		})

		It("one reviewer is started, although the operator is killed during the review, and a cancel reaches it", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, judge(), writer(v1beta1.RejectWarn), MakeTask("work", "Submit slow").Role("writer").Obj())
			Eventually(r.sub("work")).WithContext(ctx).Should(BeIn(v1beta1.SubAgentWaitingForSubAgents))
			Eventually(r.sub("work-1")).WithContext(ctx).Should(BeIn(v1beta1.SubAgentActive))
			Expect(w.Operator.Kill()).To(Succeed())
			Expect(w.StartOperator(ctx)).To(Succeed())
			r.create(ctx, MakeMessage("stop").Task("work").Cancel("work").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskCancelled))
			Eventually(r.task("work-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskCancelled))
			var tasks v1beta1.AgentTaskList
			Expect(r.API.List(ctx, &tasks, r.inNamespace())).To(Succeed())
			Expect(tasks.Items).To(HaveLen(2))
		})

		It("a role waits for its reviewer, which cannot be a remote agent", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, writer(v1beta1.RejectWarn), MakeTask("work", "Submit fine").Role("writer").Obj())
			Eventually(r.role("writer")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("False RoleNotFound"), ContainSubstring("The role judge of spec.review cannot be used"))))
			Eventually(r.task("work")).WithContext(ctx).Should(HaveStatus(ContainSubstring("Unknown RoleNotFound")))
			r.create(ctx, MakeRemoteRole("judge", "http://agents.example.com"))
			Eventually(r.role("writer")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("False InvalidSpec"), ContainSubstring("submits no verdict"))))
			Expect(r.API.Delete(ctx, must(ctx, r.role("judge")))).To(Succeed())
			r.create(ctx, judge())
			Eventually(r.task("work")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Warnings", BeEmpty())))
		})
	})
}
