// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

var _ = Describe("An AgentRole", func() {
	role := func(namespace, name string) *v1beta1.AgentRole {
		r := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		r.Spec.SystemPrompt = "You help."
		return r
	}

	It("that delegates to a role which does not exist is not ready until it appears", func() {
		ns := newNamespace(nil)
		r := role(ns, "writer")
		r.Spec.Delegation = &v1beta1.Delegation{Roles: []string{"tester", "illustrator"}}
		Expect(api.Create(ctx, r)).To(Succeed())
		Eventually(ready(r)).Should(And(HavePrefix("False RoleNotFound"), ContainSubstring("illustrator"), Not(ContainSubstring("tester"))))
		Expect(api.Create(ctx, role(ns, "illustrator"))).To(Succeed())
		Eventually(ready(r)).Should(HavePrefix("True Ready"))
	})

	It("waits for the ConfigMap that has its prompt", func() {
		ns := newNamespace(nil)
		r := role(ns, "writer")
		r.Spec.SystemPrompt = ""
		r.Spec.SystemPromptFrom = &v1beta1.PromptSource{ConfigMapKeyRef: v1beta1.ConfigMapKeyRef{Name: "prompts", Key: "writer"}}
		Expect(api.Create(ctx, r)).To(Succeed())
		Eventually(ready(r)).Should(HavePrefix("False ConfigMapNotFound"))
		Expect(api.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "prompts"},
			Data: map[string]string{"writer": "You write."}})).To(Succeed())
		Eventually(ready(r)).Should(HavePrefix("True Ready"))
	})

	It("names the tools that do not exist, and is ready without them", func() {
		r := role(newNamespace(nil), "writer")
		r.Spec.Tools = &v1beta1.RoleTools{Allow: []string{"calculator", "calculatr", "box__*"}}
		Expect(api.Create(ctx, r)).To(Succeed())
		Eventually(ready(r)).Should(And(HavePrefix("True Ready: The role can be used."), ContainSubstring(`Create the ToolServer "box"`),
			HaveSuffix(`spec.tools.allow: "calculatr" matches no tool.`)))
		Expect(api.Create(ctx, &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "box"},
			Spec: v1beta1.ToolServerSpec{URL: "http://127.0.0.1:1/mcp"}})).To(Succeed())
		Eventually(ready(r)).ShouldNot(ContainSubstring("box"), "its tools are not known yet")
	})

	It("with an invalid schema is not ready", func() {
		r := role(newNamespace(nil), "writer")
		r.Spec.AsTool = &v1beta1.RoleAsTool{Name: "Write", InputSchema: &runtime.RawExtension{Raw: []byte(`{"type":"array"}`)}}
		Expect(api.Create(ctx, r)).To(Succeed())
		Eventually(ready(r)).Should(HavePrefix("False InvalidSpec: spec.asTool.inputSchema"))
	})

	It("of a remote agent is not ready with a temperature", func() {
		r := role(newNamespace(nil), "weather")
		r.Spec.SystemPrompt, r.Spec.Temperature = "", "0.5"
		r.Spec.Remote = &v1beta1.RemoteAgent{A2A: v1beta1.A2AAgent{URL: "http://127.0.0.1:1/weather"}}
		Expect(api.Create(ctx, r)).To(Succeed())
		Eventually(ready(r)).Should(And(HavePrefix("False InvalidSpec"), ContainSubstring("Remove spec.temperature.")))
		edit(r, func() { r.Spec.Temperature = "" })
		Eventually(ready(r)).ShouldNot(HavePrefix("False InvalidSpec"))
	})

	It("uses a shared provider only where its allowedNamespaces permit it", func() {
		shared := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "shared"}}
		shared.Spec.BaseURL = "http://127.0.0.1:1/v1"
		shared.Spec.AllowedNamespaces = &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesSelector,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "blue"}}}
		Expect(api.Create(ctx, shared)).To(Succeed())
		blue, red := role(newNamespace(map[string]string{"team": "blue"}), "writer"), role(newNamespace(map[string]string{"team": "red"}), "writer")
		for _, r := range []*v1beta1.AgentRole{blue, red} {
			r.Spec.ModelProvider = "shared"
			Expect(api.Create(ctx, r)).To(Succeed())
		}
		Eventually(ready(blue)).Should(HavePrefix("True Ready"))
		Eventually(ready(red)).Should(HavePrefix("False ProviderNotFound"))
	})

	It("with the name of a built-in role needs no prompt of its own", func() {
		r := role(newNamespace(nil), "coder")
		r.Spec.SystemPrompt, r.Spec.Model = "", "big-model"
		Expect(api.Create(ctx, r)).To(Succeed())
		Eventually(ready(r)).Should(HavePrefix("True Ready"))
	})
})
