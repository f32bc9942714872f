// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Everyone who may create tasks with the chart's roles may also read transcripts, so this person has a role of their own.
var _ = Describe("A fork", func() {
	It("needs the permission to get the transcript and the files of its run", func(ctx SpecContext) {
		const pipeline person = "pipeline"
		grant := func(name string, rule rbacv1.PolicyRule) {
			meta := metav1.ObjectMeta{Namespace: team, Name: name}
			Expect(env.API.Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}})).To(Succeed())
			Expect(env.API.Create(ctx, &rbacv1.RoleBinding{
				ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
				Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: pipeline.user()}},
			})).To(Succeed())
		}
		fork := func(of spec) func(context.Context) error {
			of["uid"] = "6f1d2c1e-3f0b-4c5e-9d3b-0f2a7f7a1c11"
			return creates(pipeline, "a fork", "AgentTask", spec{"type": "Agent", "fork": of}, "").try
		}
		work := creates(pipeline, "a task", "AgentTask", tool(spec{}), "").try
		grant("creates-tasks", rbacv1.PolicyRule{APIGroups: []string{"nestor.dev"}, Resources: []string{"agenttasks"}, Verbs: []string{"create"}})
		Eventually(work).WithContext(ctx).Should(Succeed())
		for _, of := range []spec{{"task": "fix-1"}, {"subAgent": "fix-1"}} {
			err := fork(of)(ctx)
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
			Expect(err).To(MatchError(ContainSubstring("spec.fork: you may not get the transcript subagent.fix-1")))
		}
		grant("reads-one-transcript", rbacv1.PolicyRule{
			APIGroups: []string{"history.nestor.dev"}, Resources: []string{"transcripts"}, ResourceNames: []string{"subagent.fix-1"}, Verbs: []string{"get"},
		})
		Eventually(fork(spec{"task": "fix-1"})).WithContext(ctx).Should(Succeed())
		Expect(fork(spec{"subAgent": "another"})(ctx)).To(MatchError(ContainSubstring("subagent.another")))

		// Its workspace may begin with the files of the run.
		inWorkspace := creates(pipeline, "a fork with a workspace", "AgentTask", spec{
			"type": "Agent", "workspace": spec{"emptyDir": spec{}},
			"fork": spec{"task": "fix-1", "uid": "6f1d2c1e-3f0b-4c5e-9d3b-0f2a7f7a1c11", "toolResults": "Live"},
		}, "").try
		Expect(inWorkspace(ctx)).To(MatchError(ContainSubstring("you may not get workspacechanges/file")))
		grant("reads-files", rbacv1.PolicyRule{
			APIGroups: []string{"history.nestor.dev"}, Resources: []string{"workspacechanges/file"}, Verbs: []string{"get"},
		})
		Eventually(inWorkspace).WithContext(ctx).Should(Succeed())
	})
})
