// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

var _ = Describe("A ToolPolicy", func() {
	policy := func(namespace, name, when string) *v1beta1.ToolPolicy {
		return &v1beta1.ToolPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1beta1.ToolPolicySpec{
			Rules: []v1beta1.PolicyRule{{Name: "rule", AllowWhen: when}},
		}}
	}
	namespace := func() string { return newNamespace(nil) }

	It("that does not compile is not ready until it is corrected", func() {
		p := policy(namespace(), "careful", "call.readonly")
		Expect(api.Create(ctx, p)).To(Succeed())
		Eventually(ready(p)).Should(And(HavePrefix("False InvalidExpression: spec.rules[0].allowWhen: line 1, column 5: undefined field 'readonly'"),
			ContainSubstring("wait")))
		edit(p, func() { p.Spec.Rules[0].AllowWhen = "call.readOnly" })
		Eventually(ready(p)).Should(Equal("True Ready: The policy judges the calls that it matches."))
	})

	It("names the tools and roles that do not exist", func() {
		p := policy(namespace(), "careful", "call.readOnly")
		p.Spec.Match = &v1beta1.PolicyMatch{Tools: []string{"calculator", "calculatr", "delegate_to_agent", "box__*"}, Roles: []string{"general", "nobody"}}
		Expect(api.Create(ctx, p)).To(Succeed())
		Eventually(ready(p)).Should(And(HavePrefix("True "+v1beta1.ReasonNamesNotFound), ContainSubstring(`spec.match.roles: Create the AgentRole "nobody"`),
			ContainSubstring(`Create the ToolServer "box"`), HaveSuffix(`spec.match.tools: "calculatr" matches no tool.`)))
	})

	It("is not evaluated while its namespace has 64 older ones", func() {
		ns := namespace()
		policies := make([]*v1beta1.ToolPolicy, 65)
		for i := range policies {
			policies[i] = policy(ns, fmt.Sprintf("p%02d", i), "call.readOnly")
			Expect(api.Create(ctx, policies[i])).To(Succeed())
		}
		Eventually(ready(policies[64])).Should(And(HavePrefix("False "+v1beta1.ReasonTooManyPolicies+": The policy is not evaluated: only the 64 oldest"),
			ContainSubstring("wait until others are deleted")))
		Eventually(ready(policies[0])).Should(HavePrefix("True Ready"))
		Expect(api.Delete(ctx, policies[0])).To(Succeed())
		Eventually(ready(policies[64])).Should(HavePrefix("True Ready"))
	})

	It("cannot apply to other namespaces, except in the operator's", func() {
		p := policy(namespace(), "everywhere", "call.readOnly")
		p.Spec.Namespaces, p.Spec.Mode = &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}, v1beta1.PolicyAudit
		Expect(api.Create(ctx, p)).To(Succeed())
		Eventually(ready(p)).Should(And(HavePrefix("True Ready: The policy records verdicts that have no effect."),
			ContainSubstring("spec.namespaces has no effect")))
	})
})
