// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller/agentevaluation"
	"github.com/nestor-dev/nestor/internal/controller/agentrole"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/fault"
)

// evaluationCrashes covers the operator's death at each step of an evaluation and a promotion.
func evaluationCrashes(w *world) {
	It("evaluate and promote once, even if the operator is killed between their steps", func(ctx SpecContext) {
		r := w.newNamespace(ctx)
		role := MakeGatedRole("poet", "You write odes.")
		role.Spec.Promotion.Evaluation = "poems"
		r.create(ctx, role)
		r.promoted(ctx, "poet", upToDate)
		r.recordPoems(ctx)
		r.create(ctx, MakeEvaluation("poems"))
		Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
		points := []struct {
			point engine.Point
			count int
		}{
			{agentrole.AfterRevision, 1}, {agentevaluation.AfterTrial, 1}, {agentevaluation.AfterTrial, 3}, {engine.AfterEffect, 3}, {agentevaluation.AfterVerdict, 1},
		}
		for i, at := range points {
			By(fmt.Sprint(at.point, " for the time ", at.count))
			before := must(ctx, r.role("poet")).Status
			Expect(w.Operator.Kill()).To(Succeed())
			Expect(w.LaunchOperator(ctx, fmt.Sprintf("%s=%s:%d", fault.Variable, at.point, at.count))).To(Succeed())
			change(ctx, r, r.role("poet"), func(role *v1beta1.AgentRole) {
				role.Spec.SystemPrompt = fmt.Sprintf("You write sonnets in the style %d.", i)
			})
			Eventually(w.Operator.Exited()).WithContext(ctx).Should(BeClosed(), "the operator reaches the point")
			begun := map[string]types.UID{}
			for _, task := range r.lanes(ctx, "poems") {
				begun[task.Name] = task.UID
			}
			Expect(w.StartOperator(ctx)).To(Succeed())
			after := r.promoted(ctx, "poet", func(s v1beta1.AgentRoleStatus) bool {
				return upToDate(s) && s.CurrentRevision != before.CurrentRevision
			})
			Expect(after.PreviousRevision).To(Equal(before.PromotedRevision), "it is promoted once")
			status := must(ctx, r.evaluation("poems")).Status
			Expect(status.Verdict).To(Equal(v1beta1.VerdictPassed))
			Expect(status.CandidateRevision).To(Equal(after.PromotedRevision))
			Expect(r.revisionsOf(ctx, "poet")).To(And(ContainElement(after.PromotedRevision), HaveLen(i+2)), "each revision is kept once")
			tasks := r.lanes(ctx, "poems")
			Expect(tasks).To(HaveLen(4))
			for _, task := range tasks {
				Expect(task.UID).To(Equal(cmp.Or(begun[task.Name], task.UID)), "a trial that had begun is not begun again")
				Expect(task.Status.Usage.ModelCalls).To(BeEquivalentTo(2))
			}
		}
	})
}
