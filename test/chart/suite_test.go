// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package chart_test holds the charts, and what Kustomize makes of config/, against a real API server: what they install is
// accepted, runs under the restricted Pod Security Standard, and is the same with both; values that cannot work are refused with
// words that help.
package chart_test

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nestor-dev/nestor/internal/localcluster"
)

// release is the namespace of the rendered chart. It enforces restricted pods.
const release = "nestor-system"

var (
	cluster *localcluster.Cluster
	// api rejects unknown fields.
	api client.Client
	// The pinned programs.
	helmPath, kustomizePath string
)

func TestChart(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Chart")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrllog.SetLogger(GinkgoLogr)
	helmPath, kustomizePath = tool(ctx, "helm"), tool(ctx, "kustomize")
	var err error
	cluster, err = localcluster.Start(ctx, localcluster.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })
	config := rest.CopyConfig(cluster.Config)
	config.QPS = -1
	plain, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	Expect(err).NotTo(HaveOccurred())
	api = client.WithFieldValidation(plain, metav1.FieldValidationStrict)
	makeNamespaces(ctx)
})

func makeNamespaces(ctx context.Context) {
	GinkgoHelper()
	for _, name := range []string{release, "team-a", "team-b"} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
		Expect(api.Create(ctx, namespace)).To(Succeed())
	}
}
