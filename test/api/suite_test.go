// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package api_test holds Nestor's API against a real API server and a real garbage collector: what is accepted, what is
// refused and with which words, what is filled in, what is shown and what is removed.
package api_test

import (
	"context"
	"flag"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	nestor "github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/config/crd"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/test/patience"
)

// update rewrites the golden files: go test ./test/api -update, then read the difference.
var update = flag.Bool("update", false, "rewrite the golden files")

// One cluster serves the suite; each spec has a separate namespace.
var (
	cluster   *localcluster.Cluster
	clientset *kubernetes.Clientset
	// api rejects unknown fields, like kubectl.
	api client.Client
)

func TestAPI(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience.Limit())
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "API")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrllog.SetLogger(GinkgoLogr)
	var err error
	cluster, err = localcluster.Start(ctx, localcluster.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })

	config := rest.CopyConfig(cluster.Config)
	config.QPS = -1 // this suite is the only client
	clientset, err = kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	Expect(corev1.AddToScheme(scheme)).To(Succeed())
	Expect(nestor.AddToScheme(scheme)).To(Succeed())
	plain, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	api = client.WithFieldValidation(plain, metav1.FieldValidationStrict)
})

// definitions returns the eleven CRDs. It panics if they are broken, because specs are generated from them before
// anything runs.
func definitions() []*apiextensionsv1.CustomResourceDefinition {
	all, err := crd.All()
	if err != nil {
		panic(err)
	}
	return all
}

// newNamespace creates a namespace for a spec. It is not deleted: the cluster ends with the suite.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-"}}
	Expect(api.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}
