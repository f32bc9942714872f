// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package rbac_test holds the chart's permissions and policies against a real API server, on which the operator works with no
// more than they give it: who may do what with every kind, and with which words the rest is refused.
package rbac_test

import (
	"context"
	"flag"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/test/patience"
	"github.com/nestor-dev/nestor/test/ports"
	"github.com/nestor-dev/nestor/test/stack"
)

// update rewrites the golden files: go test ./test/rbac -update, then read the difference.
var update = flag.Bool("update", false, "rewrite the golden files")

// env is a stack with all users; requests do not change it, so specs share it.
var env *stack.Stack

func TestRBAC(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience.Limit())
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "RBAC")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrllog.SetLogger(GinkgoLogr)
	address, err := ports.Free(ctx)
	Expect(err).NotTo(HaveOccurred())
	gateway.address, err = ports.Free(ctx)
	Expect(err).NotTo(HaveOccurred())
	gateway.intake, err = ports.Free(ctx)
	Expect(err).NotTo(HaveOccurred())
	env, err = stack.Start(ctx, stack.Options{NoOperator: true, Scripts: []string{"builtin:load"}, OperatorFlags: []string{
		"--history-bind-address", address, "--intake-bind-address", gateway.intake, "--intake-insecure", "--gateway-cert-secret", gatewaySecret,
	}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(env.Stop()).To(Succeed()) })
	registerHistory(ctx, netip.MustParseAddrPort(address).Port())
	Expect(env.StartOperator(ctx)).To(Succeed())
	createPeople(ctx)
	createPrograms(ctx)
	createObjects(ctx)
	startGateway(ctx)
	waitForPolicies(ctx)
})

// registerHistory applies the chart's registration of the history API, with the address of the operator's process on
// this machine. The operator itself creates the certificate and the CA bundle.
func registerHistory(ctx context.Context, port uint16) {
	GinkgoHelper()
	objects, err := operator.History()
	Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		switch object.GetKind() {
		case "Service":
			object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
		case "APIService":
			Expect(unstructured.SetNestedField(object.Object, int64(port), "spec", "service", "port")).To(Succeed())
		}
		Expect(env.API.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("suite"))).To(Succeed())
	}
}

// waitForPolicies waits until the API server enforces the last of the policies.
func waitForPolicies(ctx context.Context) {
	GinkgoHelper()
	for _, c := range policyCases() {
		if c.message == "" {
			continue
		}
		Eventually(func() error { return c.try(ctx) }).WithContext(ctx).Should(Satisfy(apierrors.IsForbidden), c.does)
	}
}

// as returns a client with a user's identity.
func as(who person) dynamic.Interface {
	GinkgoHelper()
	c, err := dynamic.NewForConfig(config(who))
	Expect(err).NotTo(HaveOccurred())
	return c
}

func config(who person) *rest.Config {
	config := rest.CopyConfig(env.Cluster.Config)
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{UserName: who.user(), Groups: who.groups()}
	return config
}

// administrator returns a client that may read everything. The policies apply to it, too.
func administrator() dynamic.Interface {
	GinkgoHelper()
	c, err := dynamic.NewForConfig(env.Cluster.Config)
	Expect(err).NotTo(HaveOccurred())
	return c
}
