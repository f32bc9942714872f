// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert_test

import (
	"encoding/base64"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/internal/servingcert"
)

var _ = Describe("A keeper with a webhook", func() {
	var (
		w       *environment
		replica *servingcert.Keeper
	)
	BeforeEach(func() {
		w = newEnvironment()
		w.register()
		w.registerWebhook()
		replica = w.replica()
		Expect(replica.Sync(ctx)).To(Succeed())
	})

	setBundle := func(bundle []byte) {
		GinkgoHelper()
		patch := fmt.Sprintf(`[{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":%q}]`, base64.StdEncoding.EncodeToString(bundle))
		_, err := configurations.Patch(ctx, "nestor", types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
	}

	It("writes the bundle, restores it, and keeps other fields", func() {
		before := w.webhook()
		Expect(before.ClientConfig.CABundle).To(Equal(w.registered().Spec.CABundle))
		Expect(before.ClientConfig.Service.Name).To(Equal("nestor-history"))
		setBundle([]byte("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"))
		Expect(replica.Sync(ctx)).To(Succeed())
		Expect(w.webhook()).To(Equal(before))
	})

	It("uses a new authority when both registrations have it", func() {
		old, served1 := w.webhook().ClientConfig.CABundle, served(replica)
		for bundle := old; string(bundle) == string(old); bundle = w.webhook().ClientConfig.CABundle {
			w.clock.advance(policy.Overlap)
			Expect(replica.Sync(ctx)).To(Succeed())
			served1 = served(replica)
		}
		w.clock.advance(policy.Overlap)
		setBundle(old)
		Expect(replica.Sync(ctx)).To(Succeed())
		Expect(served(replica)).To(Equal(served1), "the webhook did not have the new authority")
		Expect(w.webhook().ClientConfig.CABundle).To(Equal(w.registered().Spec.CABundle))
		Expect(replica.Sync(ctx)).To(Succeed())
		Expect(served(replica)).NotTo(Equal(served1))
		w.expectTrusted(replica)
	})
})
