// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
)

func uninstalls(c *cluster) {
	It("leaves nothing behind but what people made, and nothing at all when that is deleted", func(ctx SpecContext) {
		c.helm(ctx, "uninstall", release, "--namespace", systemNamespace, "--wait")
		Expect(c.kubectl(ctx, "-n", systemNamespace, "get", "pvc", "-o", "name")).To(ContainSubstring("nestor-ledger"), "the ledger is kept")
		Expect(c.kubectl(ctx, "-n", "tour", "get", "agentchats", "-o", "name")).To(ContainSubstring("agentchat.nestor.dev/tour"), "chats are kept")
		c.kubectl(ctx, "-n", systemNamespace, "delete", "pvc", "nestor-ledger")
		c.expectNothing(ctx)
	})
}

// expectNothing removes what the installation does not, and compares the cluster with what it was before.
func (c *cluster) expectNothing(ctx context.Context) {
	GinkgoHelper()
	Eventually(c.leftIn).WithContext(ctx).WithArguments(systemNamespace).Should(BeEmpty(), "what is left in the operator's namespace")
	c.kubectl(ctx, "delete", "crd", "-l", "app.kubernetes.io/part-of=nestor", "--timeout=2m")
	c.helm(ctx, "uninstall", definitions, "--namespace", systemNamespace, "--wait")
	var made []string
	for name := range c.everything(ctx) {
		if namespace, ok := strings.CutPrefix(name, "namespaces /"); ok && !c.before[name] {
			made = append(made, namespace)
		}
	}
	c.kubectl(ctx, append([]string{"delete", "namespace", "--timeout=2m"}, made...)...)
	Eventually(c.added).WithContext(ctx).Should(BeEmpty(), "what is left in the cluster")
}

// leftIn is what stands in a namespace, but for what every namespace has and Helm's record of the definitions.
func (c *cluster) leftIn(ctx context.Context, namespace string) []string {
	var left []string
	for name := range c.everything(ctx) {
		kind, object, _ := strings.Cut(name, " ")
		if inside, ok := strings.CutPrefix(object, namespace+"/"); ok && inside != "default" && inside != "kube-root-ca.crt" && !strings.HasPrefix(inside, "sh.helm.release.v1.nestor-crds.") {
			left = append(left, kind+" "+inside)
		}
	}
	return left
}

// added is what there is now and was not before.
func (c *cluster) added(ctx context.Context) []string {
	var more []string
	for name := range c.everything(ctx) {
		if !c.before[name] {
			more = append(more, name)
		}
	}
	return more
}

// passing are kinds whose objects come and go by themselves.
var passing = map[string]bool{"events": true, "leases": true, "componentstatuses": true, "pods": false, "nodes": false, "csinodes": true}

// everything is all that the API server knows, as "resource namespace/name".
func (c *cluster) everything(ctx context.Context) map[string]bool {
	GinkgoHelper()
	finder, err := discovery.NewDiscoveryClientForConfig(c.config)
	Expect(err).NotTo(HaveOccurred())
	lists, err := finder.ServerPreferredResources()
	if !discovery.IsGroupDiscoveryFailedError(err) { // an API that is just being removed
		Expect(err).NotTo(HaveOccurred())
	}
	reader, err := metadata.NewForConfig(c.config)
	Expect(err).NotTo(HaveOccurred())
	all := map[string]bool{}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		Expect(err).NotTo(HaveOccurred())
		for _, resource := range list.APIResources {
			lists := strings.Contains(strings.Join(resource.Verbs, " "), "list") && strings.Contains(strings.Join(resource.Verbs, " "), "delete")
			if !lists || group.Group == historyGroup || (passing[resource.Name] && resource.Name != "leases") {
				continue
			}
			found, err := reader.Resource(group.WithResource(resource.Name)).List(ctx, metav1.ListOptions{})
			if err != nil {
				continue // the kind went away while we looked
			}
			for _, object := range found.Items {
				if resource.Name == "leases" && strings.HasPrefix(object.Namespace, "kube-") {
					continue
				}
				all[resource.Name+" "+object.Namespace+"/"+object.Name] = true
			}
		}
	}
	return all
}

// historyGroup holds views of the ledger, not objects.
const historyGroup = "history.nestor.dev"
