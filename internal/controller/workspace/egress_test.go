// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
)

func clonedFrom(url string) v1alpha1.Workspace {
	return v1alpha1.Workspace{Git: &v1alpha1.GitSource{URL: url}}
}

// policy returns the network policy of the workspace's pod.
func (r chatWorkspace) policy() networkingv1.NetworkPolicy {
	GinkgoHelper()
	var policy networkingv1.NetworkPolicy
	Expect(api.Get(ctx, r.name(), &policy)).To(Succeed())
	return policy
}

// expectReaches expects that a rule allows addresses at a port.
func expectReaches(rule networkingv1.NetworkPolicyEgressRule, port int, cidrs ...string) {
	GinkgoHelper()
	Expect(rule.Ports).To(ConsistOf(HaveField("Port", HaveValue(Equal(intstr.FromInt(port))))))
	var found []string
	for _, peer := range rule.To {
		Expect(peer.NamespaceSelector).To(BeNil())
		found = append(found, peer.IPBlock.CIDR)
	}
	Expect(found).To(ConsistOf(cidrs))
}

var _ = Describe("What a workspace pod may connect to", func() {
	It("is its git server, by the resolved addresses", func() {
		r := newChatWorkspace(clonedFrom("https://git.example.com:8443/team/app.git"))
		r.call(workspaces, "ls", `{}`)
		p := r.pod("")
		egress := r.policy().Spec.Egress
		Expect(egress).To(HaveLen(1), "no DNS either")
		expectReaches(egress[0], 8443, "192.0.2.7/32", "2001:db8::7/128")
		Expect(p.Spec.HostAliases).To(ConsistOf(
			corev1.HostAlias{IP: "192.0.2.7", Hostnames: []string{"git.example.com"}}, corev1.HostAlias{IP: "2001:db8::7", Hostnames: []string{"git.example.com"}}))
	})

	It("is an address in the URL", func() {
		r := newChatWorkspace(clonedFrom("http://192.0.2.9/app.git"))
		r.call(workspaces, "ls", `{}`)
		Expect(r.pod("").Spec.HostAliases).To(BeEmpty())
		expectReaches(r.policy().Spec.Egress[0], 80, "192.0.2.9/32")
	})

	DescribeTable("excludes reserved and unknown addresses", func(url, want string) {
		r := newChatWorkspace(clonedFrom(url))
		expectNotRun(finished(r.call(workspaces, "ls", `{}`)), want)
		var pods corev1.PodList
		Expect(api.List(ctx, &pods)).To(Succeed())
		Expect(pods.Items).NotTo(ContainElement(HaveField("Namespace", r.chat.Namespace)))
	},
		Entry("the metadata service of a cloud", "http://169.254.169.254/x.git", "has the address 169.254.169.254, which workspaces may not reach"),
		Entry("a name of the metadata service", "http://metadata.example/x.git", "has the address 169.254.169.254, which workspaces may not reach"),
		Entry("the metadata service by IPv6", "http://[fd00:ec2::254]/x.git", "which workspaces may not reach"),
		Entry("the pod itself", "http://127.0.0.1/x.git", "which workspaces may not reach"),
		Entry("an IPv4 address in IPv6", "http://[::ffff:169.254.169.254]/x.git", "which workspaces may not reach"),
		Entry("an unknown name", "https://nowhere.example/x.git", "cannot find the address of the git server nowhere.example: no such host"),
	)

	DescribeTable("is the pods of a Service of the cluster", func(host func(namespace string) string) {
		namespace := newNamespace()
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gitea"}}
		service.Spec.Selector = map[string]string{"app": "gitea"}
		service.Spec.Ports = []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("web")}}
		Expect(api.Create(ctx, service)).To(Succeed())
		r := newChatWorkspaceIn(namespace, clonedFrom("http://"+host(namespace)+"/app.git"))
		r.call(workspaces, "ls", `{}`)
		Expect(r.pod("").Spec.HostAliases).To(ConsistOf(corev1.HostAlias{IP: service.Spec.ClusterIP, Hostnames: []string{host(namespace)}}))
		egress := r.policy().Spec.Egress
		Expect(egress).To(HaveLen(2))
		expectReaches(egress[0], 80, service.Spec.ClusterIP+"/32")
		Expect(egress[1].Ports).To(ConsistOf(HaveField("Port", HaveValue(Equal(intstr.FromString("web"))))))
		Expect(egress[1].To).To(ConsistOf(networkingv1.NetworkPolicyPeer{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
			PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "gitea"}},
		}))
	},
		Entry("of its namespace", func(string) string { return "gitea" }),
		Entry("with its namespace", func(namespace string) string { return "gitea." + namespace }),
		Entry("with the cluster's domain", func(namespace string) string { return "gitea." + namespace + ".svc.cluster.local" }),
	)

	It("is what the operator was started with, for every source", func() {
		options := restarted
		options.Egress = []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "198.51.100.0/24"}}}}}
		open, err := workspace.New(options)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(open.Close(ctx)).To(Succeed()) })
		for w, rules := range map[*v1alpha1.Workspace]int{&empty: 1, &cloned: 2} {
			r := newChatWorkspace(*w)
			r.call(open, "ls", `{}`)
			r.pod("")
			egress := r.policy().Spec.Egress
			Expect(egress).To(HaveLen(rules))
			Expect(egress[0]).To(Equal(options.Egress[0]))
		}
	})

	It("is restored after the policy was changed", func() {
		r, first, _ := open(cloned)
		policy := r.policy()
		right := policy.Spec.DeepCopy()
		policy.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}}
		Expect(api.Update(ctx, &policy)).To(Succeed())
		Expect(r.remove()).To(Succeed())
		Expect(r.confirm()).To(Succeed())
		r.awaitPodGone()
		done := r.call(workspaces, "ls", `{}`)
		r.start(r.pod(first.UID))
		Expect(finished(done).Failure).To(BeEmpty())
		Expect(r.policy().Spec).To(Equal(*right))
	})
})

var _ = Describe("The size of a workspace pod", func() {
	It("is limited by the operator", func() {
		r := newChatWorkspace(v1alpha1.Workspace{EmptyDir: &v1alpha1.EmptyDirSource{SizeLimit: "21Gi"}})
		r.expectNotAllowed("The workspace requests 21Gi, and this operator allows 20Gi: create it again with a smaller sizeLimit")
		r = newChatWorkspace(v1alpha1.Workspace{EmptyDir: &v1alpha1.EmptyDirSource{SizeLimit: "20Gi"}})
		Expect(r.check()).To(Succeed())
	})
})
