// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	gatewayconfig "github.com/nestor-dev/nestor/config/components/gateway"
	"github.com/nestor-dev/nestor/config/operator"
)

type accessReview struct{ group, resource, subresource, name string }

// accessReviews lists what the operator's permissions are checked for besides Nestor's own kinds: what it needs, and what it
// must not have.
var accessReviews = []accessReview{
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
	{"apiregistration.k8s.io", "apiservices", "", "v1beta1.history.nestor.dev"},
	{"apiregistration.k8s.io", "apiservices", "", "v1.apps"},
	{"admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "nestor"},
	{"admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "others"},
	{"authentication.k8s.io", "tokenreviews", "", ""},
	{"authorization.k8s.io", "subjectaccessreviews", "", ""},
	{"authorization.k8s.io", "localsubjectaccessreviews", "", ""},
	{"admissionregistration.k8s.io", "validatingadmissionpolicies", "", ""},
	{"apiextensions.k8s.io", "customresourcedefinitions", "", ""},
}

// permissions returns what a service account of the operator's namespace may do, as a table.
func permissions(ctx context.Context, account string, reviews []accessReview) string {
	GinkgoHelper()
	user := serviceaccount.UserInfo(operator.Namespace, account, "")
	var text strings.Builder
	fmt.Fprintf(&text, "%-52s%-40s%s\n\n", "", "in its own namespace", "in others, or in the cluster")
	for _, a := range reviews {
		name := strings.TrimSuffix(a.resource+"/"+a.subresource, "/") + " " + a.name
		permissions := func(namespace string) string {
			var verbs []string
			for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
				review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
					User: user.GetName(), Groups: append(user.GetGroups(), "system:authenticated"),
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
		fmt.Fprintf(&text, "%-52s%-40s%s\n", name, permissions(operator.Namespace), permissions(team))
	}
	return text.String()
}

var _ = Describe("The gateway", func() {
	It("may create reviews with its own token, and nothing else", func(ctx SpecContext) {
		reviews := slices.Clone(accessReviews)
		for _, k := range kinds {
			reviews = append(reviews, accessReview{group: "nestor.dev", resource: k.resource})
		}
		for _, resource := range []string{"transcripts", "modelcalls", "usages", "workspacechanges"} {
			reviews = append(reviews, accessReview{group: "history.nestor.dev", resource: resource})
		}
		expectGolden("gateway.txt", permissions(ctx, gatewayconfig.ServiceAccount, reviews))
	})
})

var _ = Describe("The operator", func() {
	It("may do what it needs outside its own kinds, and no more", func(ctx SpecContext) {
		expectGolden("operator.txt", permissions(ctx, operator.ServiceAccount, accessReviews))
	})

	It("is denied nothing while it works", func() {
		Expect(env.Refusals()).To(BeEmpty())
	})
})
