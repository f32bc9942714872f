// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=localsubjectaccessreviews,verbs=create,namespace=nestor-system

// checkMayUse returns an error if the person who created a task of type Tool may not use its ToolServer. The call needs
// no approval. A policy checks that for the namespace of the task, but only the operator finds shared ToolServers.
func (r *Reconciler) checkMayUse(ctx context.Context, task *v1alpha1.AgentTask) error {
	name, _, ok := strings.Cut(task.Spec.Tool, "__")
	if !ok {
		return nil
	}
	server, err := r.Runner.Finder.ToolServer(ctx, task.Namespace, name)
	if err != nil || server.Namespace == task.Namespace {
		return err
	}
	if task.Spec.User == "" {
		return startErrorf(v1alpha1.ErrorInvalidSpec,
			"The ToolServer %s is shared by the namespace %s, and the task does not name its user: create it again with spec.user.",
			name, server.Namespace)
	}
	review := &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: task.Spec.User, Groups: groupsOf(task.Spec.User, task.Spec.UserGroups),
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: server.Namespace, Verb: "use", Group: v1alpha1.GroupVersion.Group, Resource: "toolservers", Name: name,
			},
		},
	}
	if err := r.Client.Create(ctx, review); err != nil {
		return fmt.Errorf("check whether %s may use the ToolServer %s/%s: %w", task.Spec.User, server.Namespace, name, err)
	}
	if review.Status.Allowed {
		return nil
	}
	return startErrorf(v1alpha1.ErrorInvalidSpec,
		"The ToolServer %s is shared by the namespace %s, and %s does not have the verb use on it there. "+
			"Ask for that permission, or list the groups that have it in spec.userGroups, and create the task again.",
		name, server.Namespace, task.Spec.User)
}

// groupsOf returns the groups of a user: those that the task names, and those that the API server adds to every user.
func groupsOf(user string, named []string) []string {
	groups := append(slices.Clone(named), "system:authenticated")
	if !agent.IsServiceAccount(user) {
		return groups
	}
	namespace := strings.Split(user, ":")[2]
	return append(groups, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
}
