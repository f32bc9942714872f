// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
)

func clonedFrom(url string) v1beta1.Workspace {
	return v1beta1.Workspace{Git: &v1beta1.GitSource{URL: url}}
}

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

// restart returns the workspaces of an operator that starts with other options.
func restart(options workspace.Options) *workspace.Workspaces {
	GinkgoHelper()
	w, err := workspace.New(options)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(w.Close(ctx)).To(Succeed()) })
	return w
}

// withServers returns the workspaces of an operator that lists git servers.
func withServers(entries ...string) *workspace.Workspaces {
	GinkgoHelper()
	options := restarted
	var err error
	options.PrivateGitServers, err = workspace.ParseServers(entries)
	Expect(err).NotTo(HaveOccurred())
	return restart(options)
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
		Entry("the metadata service of a cloud", "http://169.254.169.254/x.git", "has the address 169.254.169.254, which workspaces must not reach"),
		Entry("a name of the metadata service", "http://metadata.example/x.git", "has the address 169.254.169.254, which workspaces must not reach"),
		Entry("the metadata service by IPv6", "http://[fd00:ec2::254]/x.git", "which workspaces must not reach"),
		Entry("the pod itself", "http://127.0.0.1/x.git", "which workspaces must not reach"),
		Entry("an IPv4 address in IPv6", "http://[::ffff:169.254.169.254]/x.git", "which workspaces must not reach"),
		Entry("a metadata service that is not link-local", "http://100.100.100.200/x.git", "it is the address of a metadata service"),
		Entry("public and private addresses at once", "https://mixed.example/x.git", "has public addresses and the private address 10.0.0.9"),
		Entry("a private address", "http://10.0.0.9/x.git", "--workspace-private-git-servers=10.0.0.9"),
		Entry("a name of a private address", "https://intranet.example/x.git", "--workspace-private-git-servers=intranet.example"),
		Entry("a private IPv4 address in IPv6", "http://[::ffff:10.0.0.9]/x.git", "which workspaces must not reach"),
		Entry("a private address behind a translator", "https://translated.example/x.git", "the private address 64:ff9b::a00:9"),
		Entry("too many addresses", "https://many.example/x.git", "has 33 addresses; 1 to 32 are allowed"),
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

	It("is a Service of another namespace only if the operator lists it", func() {
		namespace := newNamespace()
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gitea"}}
		service.Spec.Selector = map[string]string{"app": "gitea"}
		service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		Expect(api.Create(ctx, service)).To(Succeed())
		url := "http://gitea." + namespace + ".svc.cluster.local/app.git"
		expectNotRun(finished(newChatWorkspace(clonedFrom(url)).call(workspaces, "ls", `{}`)),
			"is a Service of the namespace "+namespace+", which workspaces of other namespaces must not reach")
		for _, entry := range []string{"gitea." + namespace + ".svc", service.Spec.ClusterIP + "/16"} {
			r := newChatWorkspace(clonedFrom(url))
			r.call(withServers(entry), "ls", `{}`)
			r.pod("")
			Expect(r.policy().Spec.Egress).To(HaveLen(2))
		}
	})

	It("is a private address only if the operator lists it", func() {
		for entry, url := range map[string]string{"10.0.0.0/24": "https://intranet.example/x.git", "Intranet.example": "https://intranet.example/x.git", "10.0.0.9": "http://10.0.0.9/x.git"} {
			r := newChatWorkspace(clonedFrom(url))
			r.call(withServers(entry), "ls", `{}`)
			r.pod("")
			Expect(r.policy().Spec.Egress[0].To[0].IPBlock.CIDR).To(Equal("10.0.0.9/32"))
		}
		listed := withServers("mixed.example", "10.0.1.0/24")
		expectNotRun(finished(newChatWorkspace(clonedFrom("https://mixed.example/x.git")).call(listed, "ls", `{}`)), "only one kind of address")
		expectNotRun(finished(newChatWorkspace(clonedFrom("https://intranet.example/x.git")).call(listed, "ls", `{}`)), "the private address 10.0.0.9")
	})

	It("does not include where an ExternalName Service leads", func() {
		namespace := newNamespace()
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "intranet"}}
		service.Spec.Type, service.Spec.ExternalName = corev1.ServiceTypeExternalName, "intranet.example"
		service.Spec.Selector = map[string]string{"app": "gitea"}
		Expect(api.Create(ctx, service)).To(Succeed())
		options := restarted
		options.Resolve = func(context.Context, string) ([]netip.Addr, error) { return lookUp(ctx, "intranet.example") }
		expectNotRun(finished(newChatWorkspaceIn(namespace, clonedFrom("http://intranet/x.git")).call(restart(options), "ls", `{}`)), "the private address 10.0.0.9")
	})

	It("is the pods of a headless Service, by their labels only", func() {
		namespace := newNamespace()
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gitea"}}
		service.Spec.Selector, service.Spec.ClusterIP = map[string]string{"app": "gitea"}, corev1.ClusterIPNone
		service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		Expect(api.Create(ctx, service)).To(Succeed())
		options := restarted
		options.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
			Expect(host).To(Equal("gitea." + namespace + ".svc"))
			return []netip.Addr{netip.MustParseAddr("10.0.0.9")}, nil
		}
		r := newChatWorkspaceIn(namespace, clonedFrom("http://gitea/x.git"))
		r.call(restart(options), "ls", `{}`)
		Expect(r.pod("").Spec.HostAliases).To(ConsistOf(corev1.HostAlias{IP: "10.0.0.9", Hostnames: []string{"gitea"}}))
		egress := r.policy().Spec.Egress
		Expect(egress).To(HaveLen(1))
		Expect(egress[0].To).To(ConsistOf(HaveField("PodSelector.MatchLabels", Equal(map[string]string{"app": "gitea"}))))
	})

	It("stays what the running pod has if the name changes", func() {
		moved.Store(false)
		r := newChatWorkspace(clonedFrom("https://moving.example/x.git"))
		done := r.call(workspaces, "ls", `{}`)
		p := r.pod("")
		policy := r.policy()
		Expect(api.Delete(ctx, &policy)).To(Succeed())
		moved.Store(true)
		r.start(p) // the policy is restored before the first connection
		Expect(finished(done).Failure).To(BeEmpty())
		expectReaches(r.policy().Spec.Egress[0], 443, "192.0.2.7/32")
	})

	It("shows an address that is not allowed before the chat starts", func() {
		newChatWorkspace(clonedFrom("http://10.0.0.9/x.git")).expectNotAllowed("The git server 10.0.0.9 has the private address 10.0.0.9")
		Expect(newChatWorkspace(clonedFrom("http://192.0.2.9/x.git")).check()).To(Succeed())
	})

	It("is what the operator was started with, for every source", func() {
		options := restarted
		options.Egress = []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "198.51.100.0/24"}}}}}
		open := restart(options)
		for w, rules := range map[*v1beta1.Workspace]int{&empty: 1, &cloned: 2} {
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
		r.waitForPodGone()
		done := r.call(workspaces, "ls", `{}`)
		r.start(r.pod(first.UID))
		Expect(finished(done).Failure).To(BeEmpty())
		Expect(r.policy().Spec).To(Equal(*right))
	})
})

var _ = Describe("The size of a workspace pod", func() {
	It("is limited by the operator", func() {
		r := newChatWorkspace(v1beta1.Workspace{EmptyDir: &v1beta1.EmptyDirSource{SizeLimit: "21Gi"}})
		r.expectNotAllowed("The workspace requests 21Gi, and this operator allows 20Gi: create it again with a smaller sizeLimit")
		r = newChatWorkspace(v1beta1.Workspace{EmptyDir: &v1beta1.EmptyDirSource{SizeLimit: "20Gi"}})
		Expect(r.check()).To(Succeed())
	})
})
