// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1beta1 "github.com/nestor-dev/nestor/api/history/v1beta1"
)

func historySpecs(c *cluster) {
	It("serves histories through the API server, with each person's permissions", func(ctx SpecContext) {
		Expect(c.kubectl(ctx, "-n", "tour", "get", "transcripts")).To(And(
			ContainSubstring("chat.tour"), ContainSubstring("security-reviewer"), ContainSubstring("tester")))
		Expect(c.kubectl(ctx, "-n", "tour", "get", "--raw", "/apis/history.nestor.dev/v1beta1/namespaces/tour/transcripts/chat.tour/log")).To(
			ContainSubstring("Review the sample project from three perspectives."))
		c.kubectl(ctx, "-n", "tour", "create", "rolebinding", "looks-dora", "--clusterrole=nestor-viewer", "--user=dora")
		var transcripts historyv1beta1.TranscriptList
		Expect(c.as("dora").List(ctx, &transcripts, client.InNamespace("tour"))).To(Succeed())
		Expect(transcripts.Items).To(HaveLen(5), "the chat and its four agents")
		Expect(apierrors.IsForbidden(c.as("dora").List(ctx, &transcripts, client.InNamespace("office")))).To(BeTrue())
	})

	It("creates a new certificate when the old one is deleted, without interruption", func(ctx SpecContext) {
		bundle := func(ctx context.Context) (string, error) {
			return c.tryKubectl(ctx, "get", "apiservice", "v1beta1.history.nestor.dev", "-o", "jsonpath={.spec.caBundle}")
		}
		before, err := bundle(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(before).NotTo(BeEmpty())
		c.kubectl(ctx, "-n", systemNamespace, "delete", "secret", "nestor-history-cert")
		Eventually(bundle).WithContext(ctx).Should(And(Not(BeEmpty()), Not(Equal(before))))
		Eventually(func(ctx context.Context) (string, error) {
			return c.tryKubectl(ctx, "-n", "tour", "get", "transcripts")
		}).
			WithContext(ctx).Should(ContainSubstring("chat.tour"))
		Expect(c.kubectl(ctx, "-n", systemNamespace, "get", "secret", "nestor-history-cert", "-o", "name")).NotTo(BeEmpty())
	})
}
