// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

var _ = Describe("The generation that a status shows", Serial, func() {
	type fields = map[string]any
	missing := fields{"name": "missing", "key": "key"}
	DescribeTable("follows every change of the spec, and nothing else is written", func(kind, resource string, spec, change fields) {
		c := conversation{newNamespace(nil)}
		c.provide()
		object := &unstructured.Unstructured{Object: fields{"spec": spec}}
		object.SetGroupVersionKind(v1beta1.GroupVersion.WithKind(kind))
		object.SetNamespace(c.namespace)
		object.SetName("own")
		Expect(api.Create(ctx, object)).To(Succeed())
		path := "PUT " + resource + "/own/status"
		observed := func(g Gomega) {
			g.Expect(api.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
			status, _, err := unstructured.NestedMap(object.Object, "status")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(status).To(HaveKeyWithValue("observedGeneration", object.GetGeneration()))
			// The doctor reads from it when the status last changed.
			g.Expect(object.GetManagedFields()).To(ContainElement(And(HaveField("Subresource", "status"), HaveField("Time", Not(BeNil())))))
			conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(conditions).To(ContainElement(And(HaveKeyWithValue("type", v1beta1.ConditionReady), HaveKeyWithValue("status", Not(Equal("Unknown"))),
				HaveKeyWithValue("observedGeneration", object.GetGeneration()))))
		}
		Eventually(observed).Should(Succeed())
		before := writes.of(c.namespace)[path]
		object.SetAnnotations(map[string]string{"team.example.com/note": "not part of the spec"})
		Expect(api.Update(ctx, object)).To(Succeed())
		Expect(object.GetGeneration()).To(BeEquivalentTo(1))
		maps.Copy(object.Object["spec"].(fields), change)
		Expect(api.Update(ctx, object, &client.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})).To(Succeed())
		Expect(object.GetGeneration()).To(BeEquivalentTo(2))
		Eventually(observed).Should(Succeed())
		Expect(writes.of(c.namespace)[path] - before).To(BeNumerically("<=", 1))
	},
		Entry("of a chat", "AgentChat", "agentchats", fields{}, fields{"model": "other"}),
		Entry("of a quota", "AgentQuota", "agentquotas", fields{"period": "Day", "maxTokens": int64(1000)}, fields{"maxTokens": int64(2000)}),
		Entry("of a role", "AgentRole", "agentroles", fields{"systemPrompt": "You help."}, fields{"systemPrompt": "You work."}),
		Entry("of an evaluation", "AgentEvaluation", "agentevaluations", fields{"role": "none", "cases": []any{fields{"name": "one", "taskUID": "a"}}}, fields{"repeats": int64(2)}),
		Entry("of a trigger", "AgentTrigger", "agenttriggers", fields{"schedule": fields{"cron": "0 7 * * *"},
			"task": fields{"role": "general", "instruction": "Begin."}}, fields{"suspend": true}),
		// Their endpoints are not checked: each result would be a write of its own.
		Entry("of a provider without a key", "ModelProvider", "modelproviders",
			fields{"baseURL": "http://127.0.0.1:1/v1", "apiKeyRef": missing}, fields{"baseURL": "http://127.0.0.1:1/v2"}),
		Entry("of a tool server without a key", "ToolServer", "toolservers",
			fields{"url": "http://127.0.0.1:1/mcp", "headersFrom": []any{fields{"name": "Authorization", "secretKeyRef": missing}}},
			fields{"url": "http://127.0.0.1:1/other"}),
	)
})
