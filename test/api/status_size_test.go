// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const kibibyte = 1024

var _ = Describe("A status that is filled to its bounds", func() {
	for _, definition := range definitions() {
		kind := definition.Spec.Names.Kind
		DescribeTable("of "+kind,
			func(ctx SpecContext, letter string, limit int) {
				status := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
				filled, err := filler{letter: letter, maxData: maxData(kind)}.fill("status", &status)
				Expect(err).NotTo(HaveOccurred())

				object := sample(kind)
				object.SetNamespace(newNamespace(ctx))
				Expect(api.Create(ctx, object)).To(Succeed())
				object.Object["status"] = filled
				Expect(api.Status().Update(ctx, object)).To(Succeed())
				Expect(object.Object["status"]).To(Equal(filled), "nothing is pruned")

				size := len(stored(ctx, definition, object))
				if kind == "AgentChat" {
					// It has the patterns of allowances, see ADR 28, 32 requests with rules and labels of policies, and 24 pinned revisions.
					limit = limit*3/2 + 88*kibibyte
				}
				AddReportEntry("size", fmt.Sprintf("%s full of %q: %d KiB of %d", kind, letter, size/kibibyte, limit/kibibyte))
				Expect(size).To(BeNumerically("<", limit))
			},
			Entry(fmt.Sprintf("with letters of four bytes is below %d KiB", maxStatus(kind)/kibibyte), "🦉", maxStatus(kind)),
			Entry("with letters that JSON escapes is below 512 KiB", "<", 512*kibibyte),
		)

		It("of "+kind+" has conditions whose messages are bounded by a rule", func(ctx SpecContext) {
			object := sample(kind)
			object.SetNamespace(newNamespace(ctx))
			Expect(api.Create(ctx, object)).To(Succeed())
			object.Object["status"] = map[string]any{"conditions": []any{map[string]any{
				"type": "Ready", "status": "False", "reason": "TooLong", "lastTransitionTime": "2026-11-15T00:00:00Z",
				"message": strings.Repeat("🦉", conditionMessageLength+1),
			}}}
			Expect(api.Status().Update(ctx, object)).To(MatchError(ContainSubstring("at most 1024 characters")))
		})
	}
})

// stored returns an object as the API server stores it: JSON, with managedFields.
func stored(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition, object *unstructured.Unstructured) []byte {
	GinkgoHelper()
	data, err := clientset.RESTClient().Get().
		AbsPath("apis", definition.Spec.Group, definition.Spec.Versions[0].Name,
			"namespaces", object.GetNamespace(), definition.Spec.Names.Plural, object.GetName()).
		DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(data).To(HavePrefix("{"), "JSON")
	return data
}

// maxStatus returns the size below which a full status is. The schemas of tools are in addition to their descriptions,
// and the reasons of policies in addition to the calls of an agent.
func maxStatus(kind string) int {
	switch kind {
	case "ToolServer":
		return 288 * kibibyte
	case "SubAgent":
		return 280 * kibibyte
	}
	return 256 * kibibyte
}

// maxData returns the bound of the data of a result of a kind, which the projection applies.
func maxData(kind string) int {
	if kind == "SubAgent" {
		return 4 * kibibyte
	}
	return 32 * kibibyte
}
