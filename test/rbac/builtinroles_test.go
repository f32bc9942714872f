// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/config/operator"
)

// platform administers the operator's namespace, but not the cluster.
const platform person = "platform"

var _ = Describe("The built-in roles", Ordered, func() {
	const (
		installed = "roles with the label nestor.dev/built-in are installed with Nestor"
		readOnly  = "this role is built in and read-only, and only an upgrade of Nestor changes it"
		edited    = `{"spec":{"model":"other"}}`
		upgraded  = `{"metadata":{"annotations":{"nestor.dev/spec-digest":"2"}},"spec":{"model":"other"}}`
		unmarked  = `{"metadata":{"labels":{"nestor.dev/built-in":null}}}`
	)
	var built []*unstructured.Unstructured
	patch := func(ctx context.Context, who dynamic.Interface, patch string) error {
		_, err := who.Resource(resource("agentroles")).Namespace(operator.Namespace).Patch(ctx, "coder", types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: dry})
		return err
	}
	create := func(ctx context.Context, who dynamic.Interface, namespace string) error {
		forged := object("AgentRole", "forged", spec{"systemPrompt": "You forge."})
		forged.SetNamespace(namespace)
		forged.SetLabels(map[string]string{v1beta1.LabelBuiltIn: "true"})
		_, err := who.Resource(resource("agentroles")).Namespace(namespace).Create(ctx, forged, metav1.CreateOptions{DryRun: dry})
		return err
	}
	remove := func(ctx context.Context, who dynamic.Interface) error {
		return who.Resource(resource("agentroles")).Namespace(operator.Namespace).Delete(ctx, "coder", metav1.DeleteOptions{DryRun: dry})
	}
	refused := func(err error, message string) {
		GinkgoHelper()
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring(message)))
	}

	BeforeAll(func(ctx SpecContext) {
		Expect(env.API.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: string(platform)},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: platform.user()}},
		})).To(Succeed())
		Expect(env.AwaitRole(ctx, operator.Namespace, platform.user(), "admin")).To(Succeed())
		var err error
		built, err = operator.BuiltInRoles()
		Expect(err).NotTo(HaveOccurred())
		for _, object := range built {
			Expect(env.API.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("suite"))).To(Succeed())
		}
	})

	It("are all ready", func(ctx SpecContext) {
		for _, object := range built {
			Eventually(func() (bool, error) {
				var role v1beta1.AgentRole
				err := env.API.Get(ctx, client.ObjectKeyFromObject(object), &role)
				return meta.IsStatusConditionTrue(role.Status.Conditions, v1beta1.ConditionReady), err
			}).WithContext(ctx).Should(BeTrue(), object.GetName())
		}
	})

	It("cannot be changed by a namespace's administrator", func(ctx SpecContext) {
		for _, change := range []string{edited, upgraded, unmarked, `{"metadata":{"annotations":{"nestor.dev/spec-digest":"2"}}}`} {
			refused(patch(ctx, as(platform), change), installed)
		}
		refused(remove(ctx, as(platform)), installed)
		Expect(patch(ctx, as(platform), `{"metadata":{"labels":{"example.com/team":"a"}}}`)).To(Succeed())
	})

	It("are not edited by accident by those who administer the cluster, who can upgrade and uninstall them", func(ctx SpecContext) {
		for _, change := range []string{edited, unmarked} {
			refused(patch(ctx, administrator(), change), readOnly)
		}
		Expect(patch(ctx, administrator(), upgraded)).To(Succeed())
		Expect(remove(ctx, administrator())).To(Succeed())
	})

	It("are marked only by the cluster's administrator", func(ctx SpecContext) {
		refused(create(ctx, as(platform), operator.Namespace), installed)
		refused(create(ctx, as(admin), team), installed)
		Expect(create(ctx, administrator(), operator.Namespace)).To(Succeed())
	})

	It("are overlaid by the namespaces that use them", func(ctx SpecContext) {
		_, err := as(admin).Resource(resource("agentroles")).Namespace(team).Create(ctx, object("AgentRole", "coder", spec{"model": "other"}), metav1.CreateOptions{DryRun: dry})
		Expect(err).NotTo(HaveOccurred())
	})
})
