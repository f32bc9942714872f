// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// refusals covers objects that the API server refuses to create for the operator.
func refusals(w *world) {
	Describe("What the API server refuses", func() {
		It("a refused task of an agent is that child's failure, with the API server's message", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.setQuota(ctx, "agenttasks", 1)
			r.sendMessage(ctx, "request", `Spawn [{"task":"Submit one"},{"task":"Submit two"}]`)
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("exceeded quota: few-agenttasks"), WithText("invalid_spec"), ReplyingTo("request")))
			Eventually(r.chat).WithContext(ctx).Should(BeIn(v1beta1.ChatIdle))
		})

		It("a refused sub-agent is its task's failure, with the API server's message", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.setQuota(ctx, "subagents", 0)
			r.create(ctx, MakeTask("work", "Submit done").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorInvalidSpec), "exceeded quota: few-subagents"))
		})

		It("a refused answer is retried, the chat reports it, and everything else continues", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Greet Alice")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!")))
			r.create(ctx, MakeMessage("more").Content("Greet Bob").Obj())
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Bob!")))
			makeSpace := r.setQuota(ctx, "agentmessages", 1)
			r.sendMessage(ctx, "last", "Greet Carol")
			Eventually(r.chat).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("False "+v1beta1.ReasonPostRefused+": "), ContainSubstring("exceeded quota: few-agentmessages"))))
			Eventually(r.message("last")).WithContext(ctx).Should(HaveField("Status.Phase", v1beta1.MessageHandled), "another item of the outbox")
			makeSpace(4)
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Carol!"), ReplyingTo("last")))
			Eventually(r.chat).WithContext(ctx).Should(HaveStatus(ContainSubstring("True " + v1beta1.ReasonReady + ": ")))
		})
	})
}

// setQuota allows this number of further objects of a kind in the room, and returns a function that allows more. Only the API
// server counts in this control plane, and it observes a new quota with a delay: the quota starts at zero, and is raised once the API
// server refuses.
func (r *testNamespace) setQuota(ctx context.Context, kind string, more int64) (makeSpace func(int64)) {
	GinkgoHelper()
	name := corev1.ResourceName("count/" + kind + "." + v1beta1.GroupVersion.Group)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few-" + kind}}
	quota.Spec.Hard = corev1.ResourceList{name: resource.Quantity{}}
	r.create(ctx, quota)
	makeSpace = func(n int64) {
		GinkgoHelper()
		Eventually(func(ctx context.Context) error {
			if err := r.API.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
				return err
			}
			// Based on the current usage, so that a create whose response was lost does not allow more than requested.
			used := quota.Status.Used[name]
			hard := *resource.NewQuantity(n, resource.DecimalSI)
			hard.Add(used)
			quota.Status = corev1.ResourceQuotaStatus{Hard: corev1.ResourceList{name: hard}, Used: corev1.ResourceList{name: used}}
			return r.API.Status().Update(ctx, quota)
		}).WithContext(ctx).Should(Succeed())
	}
	makeSpace(0)
	Eventually(r.dryRunCreate).WithArguments(kind).WithContext(ctx).Should(MatchError(ContainSubstring("exceeded quota")))
	if more > 0 {
		makeSpace(more)
		Eventually(r.dryRunCreate).WithArguments(kind).WithContext(ctx).Should(Succeed())
	}
	return makeSpace
}

// dryRunCreate checks with a dry run whether the API server accepts another object of a kind.
func (r *testNamespace) dryRunCreate(ctx context.Context, kind string) error {
	var obj client.Object
	switch kind {
	case "agentmessages":
		obj = MakeMessage("dry").Content("Nothing").Obj()
	case "agenttasks":
		obj = MakeTask("dry", "Nothing").Obj()
	case "subagents":
		obj = &v1beta1.SubAgent{ObjectMeta: metav1.ObjectMeta{Name: "dry"}, Spec: v1beta1.SubAgentSpec{Task: "dry", Role: "general", Depth: 1, Instruction: "Nothing"}}
	}
	obj.SetNamespace(r.namespace)
	return client.NewDryRunClient(r.asOperator()).Create(ctx, obj)
}
