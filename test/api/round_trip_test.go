// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Much of the API is immutable. A Go type that drops or rewrites what a person wrote, such as an explicit empty list,
// would then be rejected for an unintended change.
var _ = Describe("A Go client", func() {
	for _, dir := range []string{samplesDir, validDir} {
		for _, one := range examples(dir) {
			It("may write back what it read of "+filepath.Base(dir)+"/"+one.file, func(ctx SpecContext) {
				namespace := newNamespace(ctx)
				Expect(one.apply(ctx, namespace)).To(Succeed())

				list := one.objects[0].GroupVersionKind()
				list.Kind += "List"
				objects, err := api.Scheme().New(list)
				Expect(err).NotTo(HaveOccurred())
				Expect(api.List(ctx, objects.(client.ObjectList), client.InNamespace(namespace))).To(Succeed())
				read, err := meta.ExtractList(objects)
				Expect(err).NotTo(HaveOccurred())
				Expect(read).To(HaveLen(1))
				object := read[0].(client.Object)
				object.SetLabels(map[string]string{"touched": "true"})
				Expect(api.Update(ctx, object)).To(Succeed())
			})
		}
	}
})
