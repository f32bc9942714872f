// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/health"
)

var _ = Describe("The heartbeat", func() {
	// leasesOf returns a client with the permissions of a person.
	leasesOf := func(who person) client.Client {
		config := rest.CopyConfig(env.Cluster.Config)
		config.Impersonate = rest.ImpersonationConfig{UserName: who.user(), Groups: who.groups()}
		scheme := kube.NewScheme()
		api, err := client.New(config, client.Options{Scheme: scheme, Mapper: kube.NewMapper(scheme)})
		Expect(err).NotTo(HaveOccurred())
		return api
	}

	It("is found by everyone, in the namespace that has it", func(ctx SpecContext) {
		for _, who := range []person{nobody, outsider, viewer} {
			api := leasesOf(who)
			Eventually(func(g Gomega) {
				var beats coordinationv1.LeaseList
				g.Expect(api.List(ctx, &beats, client.MatchingFields{"metadata.name": health.LeaseName})).To(Succeed())
				g.Expect(beats.Items).To(HaveExactElements(HaveField("Namespace", operator.Namespace)))
			}).WithContext(ctx).Should(Succeed(), "%s", who)
			Expect(health.FindOperator(ctx, api)).To(Equal(operator.Namespace))
		}
	})

	It("is the only Lease that everyone may read", func(ctx SpecContext) {
		api := leasesOf(nobody)
		other := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "other"}}
		Expect(env.API.Create(ctx, other)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(env.API.Delete(ctx, other)).To(Succeed()) })
		var leases coordinationv1.LeaseList
		for _, options := range [][]client.ListOption{{}, {client.MatchingFields{"metadata.name": "other"}}, {client.InNamespace(operator.Namespace)}} {
			Expect(apierrors.IsForbidden(api.List(ctx, &leases, options...))).To(BeTrue())
		}
		Expect(apierrors.IsForbidden(api.Get(ctx, client.ObjectKeyFromObject(other), other))).To(BeTrue())
		Expect(apierrors.IsForbidden(api.Update(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: health.LeaseName, ResourceVersion: "1"}}))).To(BeTrue())
	})
})
