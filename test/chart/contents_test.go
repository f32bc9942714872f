// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
)

var _ = Describe("The chart", func() {
	It("elects a leader if two replicas may run, and recreates the single writer of a file", func(ctx SpecContext) {
		strategy := func(values ...string) string {
			deployment := find(rendered(ctx, values...), "Deployment", "nestor-operator")
			kind, _, err := unstructured.NestedString(deployment.Object, "spec", "strategy", "type")
			Expect(err).NotTo(HaveOccurred())
			args := pods([]*unstructured.Unstructured{deployment})[0].Spec.Containers[0].Args
			return fmt.Sprint(kind, " ", strings.Contains(strings.Join(args, " "), "--leader-elect"))
		}
		Expect(strategy()).To(Equal("Recreate false"))
		Expect(strategy(postgres...)).To(Equal("RollingUpdate true"))
	})

	It("grants the same permissions in selected namespaces as in all, and only there", func(ctx SpecContext) {
		everywhere := rightsOf(find(rendered(ctx), "ClusterRole", "nestor-operator"))
		narrowed := rendered(ctx, few...)
		inCluster := rightsOf(find(narrowed, "ClusterRole", "nestor-operator"))
		for _, namespace := range []string{"team-a", "team-b", release} {
			var role *unstructured.Unstructured
			for _, object := range narrowed {
				if object.GetKind() == "Role" && object.GetName() == "nestor-operator-watch" && object.GetNamespace() == namespace {
					role = object
				}
			}
			Expect(role).NotTo(BeNil(), namespace)
			Expect(sets.List(inCluster.Union(rightsOf(role)))).To(Equal(sets.List(everywhere)))
		}
		clusterScoped := resourcesOfTheCluster()
		for right := range inCluster {
			Expect(clusterScoped).To(HaveKey(strings.Fields(right)[0]), "%s is for namespaces", right)
		}
	})

	It("monitors only the Service with the metrics", func(ctx SpecContext) {
		for name, values := range map[string][]string{"nestor": nil, "other": {"nameOverride=agents", "fullnameOverride=other"}} {
			objects := rendered(ctx, with(page, values, []string{"metrics.serviceMonitor.enabled=true"})...)
			var monitor struct {
				Spec struct {
					Selector  metav1.LabelSelector `json:"selector"`
					Endpoints []struct {
						Port string `json:"port"`
					} `json:"endpoints"`
				} `json:"spec"`
			}
			convert(find(objects, "ServiceMonitor", name+"-operator"), &monitor)
			selector, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
			Expect(err).NotTo(HaveOccurred())
			for _, object := range objects {
				if object.GetKind() == "Service" {
					Expect(selector.Matches(labels.Set(object.GetLabels()))).To(Equal(object.GetName() == name+"-metrics"), object.GetName())
				}
			}
			var service corev1.Service
			convert(find(objects, "Service", name+"-metrics"), &service)
			Expect(monitor.Spec.Endpoints).To(ConsistOf(HaveField("Port", service.Spec.Ports[0].Name)))
		}
	})

	It("stores the key of a model only in a Secret", func(ctx SpecContext) {
		for _, object := range rendered(ctx, with(provider, []string{"modelProvider.apiKey=hunter2"})...) {
			text, err := object.MarshalJSON()
			Expect(err).NotTo(HaveOccurred())
			Expect(strings.Contains(string(text), "hunter2")).To(Equal(object.GetKind() == "Secret" && object.GetName() == "nestor-model-default"), object.GetName())
		}
	})
})

// convert converts an object, which must not be nil, to a typed one.
func convert(object *unstructured.Unstructured, into any) {
	GinkgoHelper()
	Expect(object).NotTo(BeNil())
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into)).To(Succeed())
}

// rightsOf returns the permissions of a role, as "resource.group verb".
func rightsOf(role *unstructured.Unstructured) sets.Set[string] {
	GinkgoHelper()
	var typed rbacv1.ClusterRole
	convert(role, &typed)
	rights := sets.New[string]()
	for _, rule := range typed.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					rights.Insert(fmt.Sprintf("%s.%s %s %v", resource, group, verb, rule.ResourceNames))
				}
			}
		}
	}
	return rights
}

func resourcesOfTheCluster() map[string]bool {
	GinkgoHelper()
	client, err := discovery.NewDiscoveryClientForConfig(cluster.Config)
	Expect(err).NotTo(HaveOccurred())
	lists, err := client.ServerPreferredResources()
	Expect(err).NotTo(HaveOccurred())
	found := map[string]bool{}
	for _, list := range lists {
		group, _, _ := strings.Cut(list.GroupVersion, "/")
		if !strings.Contains(list.GroupVersion, "/") {
			group = ""
		}
		for _, resource := range list.APIResources {
			if !resource.Namespaced {
				found[resource.Name+"."+group] = true
			}
		}
	}
	return found
}
