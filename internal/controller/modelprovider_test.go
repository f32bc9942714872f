// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"net/http"
	"net/http/httptest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

var _ = Describe("A ModelProvider", func() {
	provider := func(namespace, url, secretName string) *v1beta1.ModelProvider {
		p := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
		p.Spec.BaseURL = url
		if secretName != "" {
			p.Spec.APIKeyRef = &v1beta1.SecretKeyRef{Name: secretName, Key: "key"}
		}
		return p
	}

	It("waits for its Secret, then for the right key, and is ready by itself", func() {
		ns := newNamespace(nil)
		p := provider(ns, modelURL, "model-key")
		Expect(api.Create(ctx, p)).To(Succeed())
		Eventually(ready(p)).Should(HavePrefix(`False SecretNotFound: Create the Secret "model-key" in the namespace ` + ns))

		s := secret(ns, "model-key", "key", "wrong-key-12345")
		Expect(api.Create(ctx, s)).To(Succeed())
		Eventually(ready(p)).Should(HavePrefix("False Unauthorized: The provider rejects the key"))
		Expect(ready(p)()).NotTo(ContainSubstring("wrong-key-12345"))

		s.Data["key"] = []byte("right")
		Expect(api.Update(ctx, s)).To(Succeed())
		Eventually(ready(p)).Should(Equal("True Ready: The provider responds."))
		Eventually(warnings(ns)).Should(ConsistOf(
			HavePrefix(`ModelProvider/default SecretNotFound: Create the Secret "model-key" in the namespace `+ns),
			And(HavePrefix("ModelProvider/default Unauthorized: The provider rejects the key"), Not(ContainSubstring("wrong-key-12345"))),
		))
	})

	It("reports that it is progressing while no response has arrived", func() {
		silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		DeferCleanup(func() {
			silent.CloseClientConnections()
			silent.Close()
		})
		p := provider(newNamespace(nil), silent.URL+"/v1", "")
		Expect(api.Create(ctx, p)).To(Succeed())
		Eventually(ready(p)).Should(HavePrefix("Unknown " + v1beta1.ReasonNotChecked + ": Listing the provider's models."))
	})

	It("is unreachable if nothing listens at its address", func() {
		p := provider(newNamespace(nil), "http://127.0.0.1:1/v1", "")
		Expect(api.Create(ctx, p)).To(Succeed())
		Eventually(ready(p)).Should(HavePrefix("False Unreachable: The provider does not respond"))
	})

	It("names a fallback that does not exist", func() {
		p := provider(newNamespace(nil), "http://127.0.0.1:1/v1", "")
		p.Spec.Fallbacks = []string{"other"}
		Expect(api.Create(ctx, p)).To(Succeed())
		Eventually(ready(p)).Should(HavePrefix(`False ProviderNotFound: spec.fallbacks: Create the ModelProvider "other"`))
	})
})
