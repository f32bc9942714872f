// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
)

func uninstallSpecs(c *cluster) {
	It("leaves only users' objects behind, and nothing once those are deleted", func(ctx SpecContext) {
		c.helm(ctx, "uninstall", release, "--namespace", systemNamespace, "--wait")
		Expect(c.kubectl(ctx, "-n", systemNamespace, "get", "pvc", "-o", "name")).To(ContainSubstring("nestor-ledger"), "the ledger is kept")
		Expect(c.kubectl(ctx, "-n", "tour", "get", "agentchats", "-o", "name")).To(ContainSubstring("agentchat.nestor.dev/tour"), "chats are kept")
		c.kubectl(ctx, "-n", systemNamespace, "delete", "pvc", "nestor-ledger")
		c.expectNothing(ctx)
	})
}

// expectNothing removes what the installation leaves behind, and compares the cluster with its earlier state.
func (c *cluster) expectNothing(ctx context.Context) {
	GinkgoHelper()
	Eventually(c.leftIn).WithContext(ctx).WithArguments(systemNamespace).Should(BeEmpty(), "what is left in the operator's namespace")
	c.kubectl(ctx, "delete", "crd", "-l", "app.kubernetes.io/part-of=nestor", "--timeout=2m")
	c.helm(ctx, "uninstall", definitions, "--namespace", systemNamespace, "--wait")
	c.kubectl(ctx, append([]string{"delete", "namespace", "--timeout=2m"}, c.made...)...) // a given cluster has others
	c.made = nil
	Eventually(c.added).WithContext(ctx).Should(BeEmpty(), "what is left in the cluster")
}

// leftIn returns the objects in a namespace, except those of every namespace and Helm's record of the definitions.
func (c *cluster) leftIn(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	var left []string
	for name := range c.everything(ctx) {
		kind, object, _ := strings.Cut(name, " ")
		inside, ok := strings.CutPrefix(object, namespace+"/")
		usual := inside == "default" || inside == "kube-root-ca.crt" || strings.HasPrefix(inside, "sh.helm.release.v1."+definitions+".")
		if ok && !usual {
			left = append(left, kind+" "+inside)
		}
	}
	return left
}

// added returns the objects that did not exist before.
func (c *cluster) added(ctx context.Context) []string {
	GinkgoHelper()
	var more []string
	for name := range c.everything(ctx) {
		if !c.before[name] {
			more = append(more, name)
		}
	}
	return more
}

// Objects of some kinds appear and disappear on their own: the first everywhere, the second in the cluster's own namespaces.
var (
	transientKinds       = []string{"events", "componentstatuses", "csinodes"}
	transientSystemKinds = []string{"leases", "pods", "replicasets", "endpoints", "endpointslices"}
)

// everything returns all objects of the API server, as "resource namespace/name".
func (c *cluster) everything(ctx context.Context) map[string]bool {
	GinkgoHelper()
	finder, err := discovery.NewDiscoveryClientForConfig(c.config)
	Expect(err).NotTo(HaveOccurred())
	lists, err := finder.ServerPreferredResources()
	if !discovery.IsGroupDiscoveryFailedError(err) { // an API that is being removed
		Expect(err).NotTo(HaveOccurred())
	}
	reader, err := metadata.NewForConfig(c.config)
	Expect(err).NotTo(HaveOccurred())
	all := map[string]bool{}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		Expect(err).NotTo(HaveOccurred())
		for _, resource := range list.APIResources {
			// Resources that cannot be deleted are views, not objects.
			if !slices.Contains(resource.Verbs, "list") || !slices.Contains(resource.Verbs, "delete") || slices.Contains(transientKinds, resource.Name) {
				continue
			}
			found, err := reader.Resource(group.WithResource(resource.Name)).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				continue // the kind was removed meanwhile
			}
			Expect(err).NotTo(HaveOccurred())
			for _, object := range found.Items {
				if !strings.HasPrefix(object.Namespace, "kube-") || !slices.Contains(transientSystemKinds, resource.Name) {
					all[resource.Name+" "+object.Namespace+"/"+object.Name] = true
				}
			}
		}
	}
	return all
}
