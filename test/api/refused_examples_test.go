// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/attachment"
)

var (
	valueOfRefusal = regexp.MustCompile(`(Invalid value: )("(?:[^"\\]|\\.)*"|\d+): `)
	typeOfRefusal  = regexp.MustCompile(`(Invalid value: )"(?:object|string|array|integer|number|boolean)": `)
)

// haveWords matches the text of a refusal. API servers of older releases print the type of a value instead of the value; a value where
// none is expected, such as a password, does not match.
func haveWords(refused string) types.GomegaMatcher {
	withoutType := func(text string) string {
		return typeOfRefusal.ReplaceAllString(strings.ReplaceAll(text, "map[string]interface {}", ""), "$1")
	}
	return Or(ContainSubstring(refused), WithTransform(withoutType, ContainSubstring(valueOfRefusal.ReplaceAllString(refused, "$1"))))
}

var _ = Describe("Examples that are refused", func() {
	for _, one := range examples(invalidDir) {
		It("refuses "+one.file, func(ctx SpecContext) {
			refused := one.header("Refused")
			Expect(refused).NotTo(BeEmpty(), "the file should begin with \"# Refused: what the server says\"")
			Expect(one.header("Instead")).NotTo(BeEmpty(), "the file should continue with \"# Instead: what to do\"")
			Expect(one.apply(ctx, newNamespace(ctx))).To(MatchError(haveWords(refused)))
		})
	}

	// An example would be a file of 700 KB.
	const attachmentsTooLarge = "the attachments of a message have at most 512 KiB together"
	It("refuses attachments that are too large together", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		attach := func(name string, sizes ...int) error {
			message := &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1beta1.AgentMessageSpec{Chat: "talk", Content: "See."}}
			for i, size := range sizes {
				data := bytes.Repeat([]byte{0xfb, 0xff, 0xbf}, size/3+1)[:size] // in base64 "+/+/", which the API server's rules cannot decode
				message.Spec.Attachments = append(message.Spec.Attachments, v1beta1.Attachment{Name: fmt.Sprint(i), MediaType: "text/plain", Data: data})
			}
			return api.Create(ctx, message)
		}
		Expect(attach("whole", attachment.MaxBytes)).To(Succeed())
		Expect(attach("parts", attachment.MaxBytes/2, attachment.MaxBytes/2)).To(Succeed())
		Expect(attach("more", attachment.MaxBytes/2, attachment.MaxBytes/2, 1)).To(MatchError(ContainSubstring(attachmentsTooLarge)))
		Expect(attach("one", attachment.MaxBytes+1)).NotTo(Succeed())
	})

	It("has at least 60 of them", func() {
		Expect(len(examples(invalidDir))).To(BeNumerically(">=", 60))
	})

	It("has one for every rule on a spec", func() {
		// A rule that several kinds share needs only one example.
		var messages strings.Builder
		messages.WriteString(attachmentsTooLarge + "\n")
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
