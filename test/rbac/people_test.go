// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/config/operator"
)

// Namespaces. All requests are for objects in team.
const (
	team      = "team"
	elsewhere = "elsewhere"
)

// person is a user, named after their role.
type person string

// All users. The three in the middle have the cluster's own roles, to which the chart's are aggregated.
const (
	nobody      person = "nobody"
	outsider    person = "outsider" // a user of another namespace
	viewer      person = "viewer"
	user        person = "user"
	runner      person = "runner"
	admin       person = "admin"
	view        person = "view"
	edit        person = "edit"
	owner       person = "owner"
	theOperator person = "operator"
)

var everybody = []person{nobody, outsider, viewer, user, runner, admin, view, edit, owner, theOperator}

// roles are the ClusterRoles of users in a namespace.
var roles = map[person]struct{ namespace, role string }{
	outsider: {elsewhere, "nestor-user"},
	viewer:   {team, "nestor-viewer"},
	user:     {team, "nestor-user"},
	runner:   {team, "nestor-runner"},
	admin:    {team, "nestor-admin"},
	view:     {team, "view"},
	edit:     {team, "edit"},
	owner:    {team, "admin"},
}

func (p person) user() string {
	if p == theOperator {
		return serviceaccount.MakeUsername(operator.Namespace, operator.ServiceAccount)
	}
	return string(p)
}

func (p person) groups() []string {
	if p == theOperator {
		return append(serviceaccount.MakeGroupNames(operator.Namespace), "system:authenticated")
	}
	return []string{"system:authenticated"}
}

// createPeople creates the namespaces and the role bindings.
func createPeople(ctx context.Context) {
	GinkgoHelper()
	for _, namespace := range []string{team, elsewhere} {
		Expect(env.API.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	}
	for who, has := range roles {
		Expect(env.API.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: has.namespace, Name: string(who)},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: has.role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: who.user()}},
		})).To(Succeed())
	}
	for _, role := range []string{"view", "edit", "admin"} {
		Eventually(func() ([]rbacv1.PolicyRule, error) {
			found := &rbacv1.ClusterRole{}
			err := env.API.Get(ctx, client.ObjectKey{Name: role}, found)
			return found.Rules, err
		}).WithContext(ctx).Should(ContainElement(HaveField("APIGroups", ContainElement("nestor.dev"))), "the chart's roles are added to "+role)
	}
	for who, has := range roles {
		Expect(env.AwaitRole(ctx, has.namespace, who.user(), has.role)).To(Succeed())
	}
}
