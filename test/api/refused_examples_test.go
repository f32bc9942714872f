// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

var _ = Describe("Examples that are refused", func() {
	for _, one := range examples(invalidDir) {
		It("refuses "+one.file, func(ctx SpecContext) {
			refused := one.header("Refused")
			Expect(refused).NotTo(BeEmpty(), "the file should begin with \"# Refused: what the server says\"")
			Expect(one.header("Instead")).NotTo(BeEmpty(), "the file should continue with \"# Instead: what to do\"")
			Expect(one.apply(ctx, newNamespace(ctx))).To(MatchError(ContainSubstring(refused)))
		})
	}

	It("has at least 60 of them", func() {
		Expect(len(examples(invalidDir))).To(BeNumerically(">=", 60))
	})

	It("has one for every rule on a spec", func() {
		// A rule that several kinds share needs only one example.
		var messages strings.Builder
		for _, one := range examples(invalidDir) {
			messages.WriteString(one.header("Refused") + "\n")
		}
		for _, definition := range definitions() {
			schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
			for _, message := range ruleMessages(schema) {
				Expect(strings.Contains(messages.String(), message)).To(BeTrue(), "no example of %s for: %s", definition.Spec.Names.Kind, message)
			}
		}
	})
})

// ruleMessages returns the messages of a schema's rules, with the field if the rule names one; rules on status are
// skipped, because only the operator writes it.
func ruleMessages(schema *apiextensionsv1.JSONSchemaProps) []string {
	var message []string
	for _, rule := range schema.XValidations {
		field := strings.TrimPrefix(rule.FieldPath, ".")
		if field != "" {
			field = fmt.Sprintf("%s: Invalid value: ", field)
		}
		message = append(message, field+rule.Message)
	}
	if schema.Items != nil {
		message = append(message, ruleMessages(schema.Items.Schema)...)
	}
	for name, property := range schema.Properties {
		if name != "status" {
			message = append(message, ruleMessages(&property)...)
		}
	}
	return message
}
