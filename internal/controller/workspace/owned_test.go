// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

// Foreign objects with the names of a workspace's.
var (
	foreignService = &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "trap"}, Ports: []corev1.ServicePort{{Port: pod.Port}}}}
	foreignSecret  = &corev1.Secret{StringData: map[string]string{pod.TokenKey: "known"}}
	foreignPolicy  = &networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{{}}}}
	foreignPod     = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels()},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "trap", Image: "example.com/trap"}}},
	}
)

var _ = Describe("A foreign object with the name of a workspace's", func() {
	DescribeTable("is not used, and is named in the condition until it is gone", func(planted client.Object, owner func(chatWorkspace) []metav1.OwnerReference) {
		r := newChatWorkspace(empty)
		planted = planted.DeepCopyObject().(client.Object)
		planted.SetNamespace(r.name().Namespace)
		planted.SetName(r.name().Name)
		planted.SetOwnerReferences(owner(r))
		Expect(api.Create(ctx, planted)).To(Succeed())

		err := r.check()
		var missing *resolve.Missing
		Expect(err).To(BeAssignableToTypeOf(missing))
		Expect(err.(*resolve.Missing).Reason).To(Equal(v1beta1.ReasonWorkspaceUnavailable)) //nolint:errorlint // asserted above
		Expect(err).To(MatchError(ContainSubstring(r.name().String() + " has the name of a workspace object but was not created by the operator: delete it.")))
		Eventually(func(g Gomega) {
			g.Expect(finished(r.call(workspaces, "ls", `{}`)).Text).To(And(ContainSubstring("nothing was run"), ContainSubstring("was not created by the operator: delete it")))
		}).Should(Succeed())

		Expect(api.Delete(ctx, planted, client.GracePeriodSeconds(0))).To(Succeed())
		Expect(r.check()).To(Succeed())
		done := r.callAgain()
		r.start(r.pod(planted.GetUID()))
		Expect(finished(done).Failure).To(BeEmpty())
	},
		Entry("a Service", foreignService, ownedByNobody),
		Entry("a Service of another chat of the same name", foreignService, ownedByAnother),
		Entry("a Service that leads to another pod with a forged owner", foreignService, ownedByTheChat),
		Entry("a Secret", foreignSecret, ownedByNobody),
		Entry("a Secret of another chat of the same name", foreignSecret, ownedByAnother),
		Entry("a NetworkPolicy", foreignPolicy, ownedByNobody),
		Entry("a NetworkPolicy of another chat of the same name", foreignPolicy, ownedByAnother),
		Entry("a pod", foreignPod, ownedByNobody),
	)
})

func ownedByNobody(chatWorkspace) []metav1.OwnerReference { return nil }

func ownedByAnother(r chatWorkspace) []metav1.OwnerReference {
	owners := ownedByTheChat(r)
	owners[0].UID = types.UID("00000000-0000-0000-0000-000000000001")
	// The garbage collector deletes objects without an existing owner.
	owner := owners[0]
	owner.Controller, owner.UID = nil, r.chat.UID
	return append(owners, owner)
}

func ownedByTheChat(r chatWorkspace) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: v1beta1.GroupVersion.String(), Kind: "AgentChat", Name: r.chat.Name, UID: r.chat.UID, Controller: ptr.To(true),
	}}
}
