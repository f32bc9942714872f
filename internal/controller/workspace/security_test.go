// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func restrict(namespace string) {
	GinkgoHelper()
	Expect(api.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted","pod-security.kubernetes.io/enforce-version":"latest"}}}`)))).To(Succeed())
}

var _ = Describe("A workspace pod in a restricted namespace", func() {
	DescribeTable("is admitted with minimal permissions", func(w v1beta1.Workspace, egress int) {
		r := newChatWorkspace(w)
		if w.PersistentVolumeClaim != nil {
			r.claim()
		}
		if w.Git != nil && w.Git.SecretName != "" {
			r.login(w.Git.SecretName, "git.example.com")
		}
		restrict(r.chat.Namespace)
		careless := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.chat.Namespace, Name: "careless"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/image"}}},
		}
		Eventually(func() bool { return apierrors.IsForbidden(api.Create(ctx, careless, client.DryRunAll)) }).Should(BeTrue(), "the namespace rejects other pods")

		done := r.call(workspaces, "ls", `{}`)
		p := r.pod("")
		Expect(p.Spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
		Expect(p.Spec.EnableServiceLinks).To(HaveValue(BeFalse()))
		Expect(p.Spec.HostNetwork || p.Spec.HostPID || p.Spec.HostIPC).To(BeFalse())
		for _, c := range append(p.Spec.InitContainers, p.Spec.Containers...) {
			Expect(c.SecurityContext.ReadOnlyRootFilesystem).To(HaveValue(BeTrue()), c.Name)
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				Expect(c.Resources.Limits).To(HaveKey(name), c.Name)
				Expect(c.Resources.Requests).To(HaveKey(name), c.Name)
			}
			Expect(c.EnvFrom).To(BeEmpty())
			if c.Name == "workspace" {
				Expect(c.VolumeMounts).NotTo(ContainElement(HaveField("Name", "git-credentials")), "commands must not see the credentials")
			}
		}
		for _, v := range p.Spec.Volumes {
			if v.EmptyDir != nil {
				Expect(v.EmptyDir.SizeLimit).NotTo(BeNil(), v.Name)
			}
		}

		var policy networkingv1.NetworkPolicy
		Expect(api.Get(ctx, r.name(), &policy)).To(Succeed())
		selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
		Expect(err).NotTo(HaveOccurred())
		Expect(selector.Matches(labels.Set(p.Labels))).To(BeTrue(), "the policy selects the pod")
		Expect(policy.Spec.PolicyTypes).To(ConsistOf(networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress))
		Expect(policy.Spec.Ingress).To(HaveLen(1))
		Expect(policy.Spec.Ingress[0].From).To(HaveLen(1))
		Expect(policy.Spec.Ingress[0].From[0].NamespaceSelector.MatchLabels).To(HaveKeyWithValue("kubernetes.io/metadata.name", "nestor-system"))
		Expect(policy.Spec.Ingress[0].From[0].PodSelector.MatchLabels).NotTo(BeEmpty())
		Expect(policy.Spec.Egress).To(HaveLen(egress))

		r.start(p)
		Expect(finished(done).Failure).To(BeEmpty())
	},
		Entry("with nothing", empty, 0),
		Entry("with a volume", volume, 0),
		Entry("with a volume that is read-only", v1beta1.Workspace{PersistentVolumeClaim: &v1beta1.ClaimSource{ClaimName: "files", ReadOnly: true}}, 0),
		Entry("with a repository", cloned, 1),
		Entry("with a repository that needs a login", v1beta1.Workspace{Git: &v1beta1.GitSource{URL: "https://git.example.com/team/app.git", SecretName: "login"}}, 1),
	)
})
