// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/nestor-dev/nestor/config/operator"
)

// accessReviews lists what the operator's permissions are checked for besides Nestor's own kinds: what it needs, and what it
// must not have.
var accessReviews = []struct{ group, resource, subresource, name string }{
	{"", "configmaps", "", ""},
	{"", "secrets", "", ""},
	{"", "secrets", "", "nestor-history-cert"},
	{"", "pods", "", ""},
	{"", "pods", "exec", ""},
	{"", "services", "", ""},
	{"", "persistentvolumeclaims", "", ""},
	{"", "events", "", ""},
	{"", "serviceaccounts", "token", ""},
	{"networking.k8s.io", "networkpolicies", "", ""},
	{"coordination.k8s.io", "leases", "", ""},
	{"apps", "deployments", "", ""},
	{"rbac.authorization.k8s.io", "rolebindings", "", ""},
	{"", "namespaces", "", ""},
	{"", "nodes", "", ""},
	{"apiregistration.k8s.io", "apiservices", "", "v1alpha1.history.nestor.dev"},
	{"apiregistration.k8s.io", "apiservices", "", "v1.apps"},
	{"authentication.k8s.io", "tokenreviews", "", ""},
	{"authorization.k8s.io", "subjectaccessreviews", "", ""},
	{"authorization.k8s.io", "localsubjectaccessreviews", "", ""},
	{"admissionregistration.k8s.io", "validatingadmissionpolicies", "", ""},
	{"apiextensions.k8s.io", "customresourcedefinitions", "", ""},
}

var _ = Describe("The operator", func() {
	It("may do what it needs outside its own kinds, and no more", func(ctx SpecContext) {
		var text strings.Builder
		fmt.Fprintf(&text, "%-52s%-40s%s\n\n", "", "in its own namespace", "in others, or in the cluster")
		for _, a := range accessReviews {
			name := strings.TrimSuffix(a.resource+"/"+a.subresource, "/") + " " + a.name
			rights := func(namespace string) string {
				var verbs []string
				for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
					review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
						User: theOperator.user(), Groups: theOperator.groups(),
						ResourceAttributes: &authorizationv1.ResourceAttributes{
							Namespace: namespace, Group: a.group, Resource: a.resource, Subresource: a.subresource, Name: a.name, Verb: verb,
						},
					}}
					Expect(env.API.Create(ctx, review)).To(Succeed())
					if review.Status.Allowed {
						verbs = append(verbs, verb)
					}
				}
				if len(verbs) == 0 {
					return refused
				}
				return strings.Join(verbs, " ")
			}
			fmt.Fprintf(&text, "%-52s%-40s%s\n", name, rights(operator.Namespace), rights(team))
		}
		expectGolden("operator.txt", text.String())
	})

	It("is denied nothing while it works", func() {
		Expect(env.Refusals()).To(BeEmpty())
	})
})
