// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var _ = DescribeTable("Kustomize and the charts give the same objects", func(ctx SpecContext, components, values []string) {
	fromHelm := rendered(ctx, append(values, "ledger.sqlite.volume=Delete")...)
	definitions, err := render(ctx, "nestor-crds", "keep=false")
	Expect(err).NotTo(HaveOccurred())
	want := byName(append(fromHelm, definitions...))
	got := byName(build(ctx, components...))
	Expect(got).To(HaveKey("v1 Namespace /nestor-system"), "Kustomize creates the namespace, Helm with --create-namespace")
	delete(got, "v1 Namespace /nestor-system")
	Expect(cmp.Diff(want, got)).To(BeEmpty(), "-Helm +Kustomize")
},
	Entry("by default", nil, nil),
	Entry("with PostgreSQL and three replicas", []string{"postgres"}, with(postgres, []string{"replicas=3"})),
	Entry("with the gateway", []string{"gateway"}, []string{"gateway.enabled=true"}),
	Entry("with the web page", []string{"gateway", "web"}, []string{"gateway.enabled=true", "web.enabled=true"}),
	Entry("with a service monitor", []string{"service-monitor"}, []string{"metrics.serviceMonitor.enabled=true"}),
	Entry("with all of it", []string{"postgres", "gateway", "web", "service-monitor"}, with(postgres, []string{"replicas=3", "web.enabled=true", "gateway.enabled=true", "metrics.serviceMonitor.enabled=true"})),
)

// build returns the objects of config/default and the built-in roles with components, as in a user's overlay.
func build(ctx context.Context, components ...string) []*unstructured.Unstructured {
	GinkgoHelper()
	overlay := GinkgoT().TempDir()
	here, err := filepath.Abs(filepath.Join(root, "config"))
	Expect(err).NotTo(HaveOccurred())
	config, err := filepath.Rel(overlay, here)
	Expect(err).NotTo(HaveOccurred())
	text := fmt.Sprintf("resources: [%[1]s/default, %[1]s/operator/roles]\ncomponents:\n", config)
	for _, component := range components {
		text += fmt.Sprintf("  - %s/components/%s\n", config, component)
	}
	Expect(os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600)).To(Succeed())
	built, err := run(ctx, kustomizePath, "build", overlay)
	Expect(err).NotTo(HaveOccurred())
	objects, err := parse(built)
	Expect(err).NotTo(HaveOccurred())
	return objects
}

// byName returns objects by name, without fields that are only meaningful to Helm.
func byName(objects []*unstructured.Unstructured) map[string]map[string]any {
	GinkgoHelper()
	named := map[string]map[string]any{}
	for _, object := range objects {
		if _, hook := object.GetAnnotations()["helm.sh/hook"]; hook {
			continue
		}
		labels := object.GetLabels()
		delete(labels, "helm.sh/chart")
		delete(labels, "app.kubernetes.io/managed-by")
		object.SetLabels(labels)
		sortFlags(object)
		key := fmt.Sprintf("%s %s %s/%s", object.GetAPIVersion(), object.GetKind(), object.GetNamespace(), object.GetName())
		Expect(named).NotTo(HaveKey(key))
		named[key] = object.Object
	}
	return named
}

// sortFlags sorts the operator's flags, ports and variables, whose order does not matter.
func sortFlags(object *unstructured.Unstructured) {
	GinkgoHelper()
	containers, found, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	Expect(err).NotTo(HaveOccurred())
	if !found {
		return
	}
	for _, container := range containers {
		fields, ok := container.(map[string]any)
		Expect(ok).To(BeTrue())
		for _, field := range []string{"args", "ports", "env"} {
			list, ok := fields[field].([]any)
			Expect(ok).To(BeTrue(), field)
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
	}
	Expect(unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")).To(Succeed())
}
