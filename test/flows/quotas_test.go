// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// MakeQuota returns a monthly token quota; the month does not end in the middle of a spec.
func MakeQuota(name string, tokens int64) *v1beta1.AgentQuota {
	return &v1beta1.AgentQuota{ObjectMeta: named(name), Spec: v1beta1.AgentQuotaSpec{Period: v1beta1.QuotaMonth, MaxTokens: &tokens}}
}

func (r *testNamespace) quota(name string) func(context.Context) (*v1beta1.AgentQuota, error) {
	return func(ctx context.Context) (*v1beta1.AgentQuota, error) {
		return fetch(ctx, r, name, &v1beta1.AgentQuota{})
	}
}

// setLimits creates quotas, and waits until the operator has processed them: they do not limit earlier calls.
func (r *testNamespace) setLimits(ctx context.Context, quotas ...*v1beta1.AgentQuota) {
	GinkgoHelper()
	for _, quota := range quotas {
		r.create(ctx, quota)
		waitForObserved(ctx, r.quota(quota.Name))
	}
}

func reason(task *v1beta1.AgentTask) string {
	if len(task.Status.Conditions) == 0 {
		return ""
	}
	return task.Status.Conditions[0].Reason
}

// quotas covers the limits of a namespace. Runs that reach them wait; nothing fails.
func quotas(w *world) {
	Describe("AgentQuotas", func() {
		It("make runs wait, across a restart of the operator, until they are raised", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.setLimits(ctx, MakeQuota("monthly", 1000))
			r.create(ctx, MakeTask("work", "Submit the result").MaxSeconds(5).Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskRunning),
				HaveStatus(ContainSubstring("Unknown QuotaExhausted: AgentQuota monthly (Month): 0 of 1000 tokens are used"))))
			Eventually(r.sub("work")).WithContext(ctx).Should(HaveStatus(ContainSubstring("Unknown QuotaExhausted: AgentQuota monthly")))
			Eventually(r.quota("monthly")).WithContext(ctx).Should(And(HaveStatus(ContainSubstring("True QuotaExhausted: 1 runs wait")),
				HaveField("Status.Used.Tokens", HaveValue(BeZero())), HaveField("Status.Remaining.Tokens", HaveValue(BeEquivalentTo(1000)))))
			reset := must(ctx, r.quota("monthly")).Status.ResetTime
			Expect(reset.UTC().Format("02T15:04:05")).To(Equal("01T00:00:00"))

			w.restartOperator(ctx)
			// Longer than the time limit of the run: waiting does not count.
			Consistently(r.task("work")).WithContext(ctx).WithTimeout(6 * time.Second).WithPolling(500 * time.Millisecond).Should(
				WithTransform(reason, Equal(v1beta1.ReasonQuotaExhausted)))
			Expect(w.requestsOf(must(ctx, r.sub("work")).UID)(ctx)).To(BeEmpty(), "the model is not called")

			change(ctx, r, r.quota("monthly"), func(q *v1beta1.AgentQuota) { *q.Spec.MaxTokens = 10_000_000 })
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			used := must(ctx, r.task("work")).Status.Usage.TotalTokens
			Eventually(r.quota("monthly")).WithContext(ctx).Should(And(HaveStatus(ContainSubstring("True Ready")),
				HaveField("Status.Used.Tokens", HaveValue(Equal(used))), HaveField("Status.Remaining.Tokens", HaveValue(Equal(10_000_000-used)))))
		})

		It("make a chat wait, which is not ready meanwhile, and continues when the quota is deleted", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.setLimits(ctx, MakeQuota("large", 10_000_000), MakeQuota("small", 10))
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Greet Alice")
			Eventually(r.chat).WithContext(ctx).Should(HaveStatus(ContainSubstring("False QuotaExhausted: AgentQuota small")))
			Expect(r.API.Delete(ctx, must(ctx, r.quota("small")))).To(Succeed())
			Eventually(r.posts).WithContext(ctx).Should(HavePost(ReplyingTo("request")))
			Eventually(r.chat).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
		})

		It("count usage from before their creation", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTask("before", "Submit the result").Obj())
			Eventually(r.task("before")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			used := must(ctx, r.task("before")).Status.Usage.TotalTokens
			Expect(used).NotTo(BeZero())
			r.create(ctx, MakeQuota("monthly", used))
			Eventually(r.quota("monthly")).WithContext(ctx).Should(And(
				HaveField("Status.Used.Tokens", HaveValue(Equal(used))), HaveField("Status.Remaining.Tokens", HaveValue(BeZero()))))
		})

		It("do not prevent a cancel", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.setLimits(ctx, MakeQuota("monthly", 10))
			r.create(ctx, MakeTask("work", "Submit the result").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(WithTransform(reason, Equal(v1beta1.ReasonQuotaExhausted)))
			r.create(ctx, MakeMessage("stop").Task("work").Cancel("").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskCancelled))
		})

		It("of cost make runs wait whose model has no price", func(ctx SpecContext) {
			r := w.newEmptyNamespace(ctx)
			money := int64(1_000_000)
			quota := &v1beta1.AgentQuota{ObjectMeta: named("money"), Spec: v1beta1.AgentQuotaSpec{Period: v1beta1.QuotaMonth, MaxCostMicros: &money}}
			r.setLimits(ctx, quota)
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.create(ctx, MakeTask("work", "Submit the result").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(HaveStatus(ContainSubstring("Unknown PriceUnknown: AgentQuota money limits maxCostMicros")))
			change(ctx, r, r.provider("default"), func(p *v1beta1.ModelProvider) {
				p.Spec.Models = MakeProvider("", "").Price("scripted", 1_000_000).Obj().Spec.Models
			})
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Eventually(r.quota("money")).WithContext(ctx).Should(HaveField("Status.Used.CostMicros", HaveValue(Equal(*must(ctx, r.task("work")).Status.Usage.CostMicros))))
		})

		It("of cost hold in the currency of the first call", func(ctx SpecContext) {
			r := w.newEmptyNamespace(ctx)
			money := int64(1_000_000)
			r.setLimits(ctx, &v1beta1.AgentQuota{ObjectMeta: named("money"), Spec: v1beta1.AgentQuotaSpec{Period: v1beta1.QuotaMonth, MaxCostMicros: &money}})
			r.create(ctx, MakeProvider("default", w.ModelURL).Price("scripted", 1_000_000).Currency("EUR").Obj(), MakeProvider("us", w.ModelURL).Price("scripted", 1_000_000).Obj())
			r.create(ctx, MakeTask("first", "Submit the result").Obj())
			Eventually(r.task("first")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Eventually(r.quota("money")).WithContext(ctx).Should(HaveField("Status.Used.Currency", "EUR"))
			r.create(ctx, MakeTask("second", "Submit the result").Provider("us").Obj(), MakeTask("third", "Submit the result").Obj())
			Eventually(r.task("second")).WithContext(ctx).Should(HaveStatus(ContainSubstring(
				"Unknown PriceUnknown: AgentQuota money (Month): maxCostMicros counts in EUR since the first call of this period, and the price of the next call is in USD")))
			Eventually(r.task("third")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(r.API.Delete(ctx, must(ctx, r.quota("money")))).To(Succeed())
			Eventually(r.task("second")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
		})

		It("limit the active sub-agents of the namespace", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			one := int32(1)
			r.create(ctx, MakeToolServer("box", w.tools.URL), MakeRole("general").Allow("box__*").Obj())
			r.setLimits(ctx, &v1beta1.AgentQuota{ObjectMeta: named("few"), Spec: v1beta1.AgentQuotaSpec{Period: v1beta1.QuotaHour, MaxActiveAgents: &one}})
			r.create(ctx, MakeTask("first", "Wait at "+r.namespace).Obj())
			Eventually(w.tools.isWaitingAt(r.namespace)).WithContext(ctx).Should(BeTrue())
			r.create(ctx, MakeTask("second", "Submit the result").Obj())
			Eventually(r.task("second")).WithContext(ctx).Should(HaveStatus(ContainSubstring("Pending (Unknown QuotaExhausted: AgentQuota few: 1 sub-agents")))
			Eventually(r.quota("few")).WithContext(ctx).Should(HaveField("Status.ActiveAgents", BeEquivalentTo(1)))
			w.tools.open(r.namespace)
			for _, name := range []string{"first", "second"} {
				Eventually(r.task(name)).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			}
		})
	})
}
