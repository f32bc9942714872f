// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

var _ = Describe("Examples that are accepted", func() {
	for _, dir := range []string{samplesDir, validDir} {
		for _, one := range examples(dir) {
			It("accepts "+filepath.Base(dir)+"/"+one.file, func(ctx SpecContext) {
				Expect(one.apply(ctx, newNamespace(ctx))).To(Succeed())
			})
		}
	}

	It("has a sample of every kind, and the kustomization lists all samples", func() {
		data, err := os.ReadFile(filepath.Join(samplesDir, "kustomization.yaml"))
		Expect(err).NotTo(HaveOccurred())
		var kustomization struct{ Resources []string }
		Expect(yaml.Unmarshal(data, &kustomization)).To(Succeed())

		samples := examples(samplesDir)
		files, kinds := make([]string, 0, len(samples)), make([]string, 0, len(samples))
		for _, one := range samples {
			files = append(files, one.file)
			for _, object := range one.objects {
				kinds = append(kinds, object.GetKind())
				Expect(object.GetNamespace()).To(BeEmpty(), "%s should apply into the current namespace", one.file)
			}
		}
		Expect(kustomization.Resources).To(ConsistOf(files))
		for _, definition := range definitions() {
			Expect(kinds).To(ContainElement(definition.Spec.Names.Kind))
		}
	})

	It("has at least 25 edge cases, each of which says why it is accepted", func() {
		all := examples(validDir)
		Expect(len(all)).To(BeNumerically(">=", 25))
		for _, one := range all {
			Expect(one.header("Accepted")).NotTo(BeEmpty(), "%s should begin with \"# Accepted: why\"", one.file)
		}
	})
})
