// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The status subresource", func() {
	for _, definition := range definitions() {
		kind := definition.Spec.Names.Kind
		It("separates the spec of "+kind+" from its status", func(ctx SpecContext) {
			status := func(reason string) map[string]any {
				return map[string]any{"conditions": []any{map[string]any{
					"type": "Ready", "status": "Unknown", "reason": reason, "message": "", "lastTransitionTime": "2026-11-15T00:00:00Z",
				}}}
			}
			object := sample(kind)
			object.SetNamespace(newNamespace(ctx))
			object.Object["status"] = status("WrittenByAUser")
			Expect(api.Create(ctx, object)).To(Succeed())
			Expect(object.Object["status"]).To(Or(BeNil(), Equal(map[string]any{"observedGeneration": int64(-1)})), "a create cannot set the status")

			spec := object.Object["spec"]
			object.Object["spec"] = map[string]any{}
			object.Object["status"] = status("WrittenByTheOperator")
			Expect(api.Status().Update(ctx, object)).To(Succeed())
			Expect(object.Object["spec"]).To(Equal(spec), "a status update keeps the spec")
			Expect(object.Object["status"]).To(Equal(status("WrittenByTheOperator")))
			Expect(object.GetGeneration()).To(BeEquivalentTo(1), "only a new spec is a new generation")
			managers := object.GetManagedFields()
			Expect(managers).To(HaveLen(2), "a status update without a spec keeps the owner of the spec")
			Expect(managers[1].Subresource).To(Equal("status"))
			Expect(managers[1].FieldsV1.GetRawString()).To(Equal(`{"f:status":{}}`), "every request would carry and merge the names of its fields")

			object.Object["status"] = status("WrittenByAUser")
			object.SetLabels(map[string]string{"changed": "true"})
			Expect(api.Update(ctx, object)).To(Succeed())
			Expect(object.Object["status"]).To(Equal(status("WrittenByTheOperator")), "an update keeps the status")
			Expect(object.GetLabels()).To(HaveKey("changed"))
		})
	}
})
