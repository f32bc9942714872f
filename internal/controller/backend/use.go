// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=localsubjectaccessreviews,verbs=create,namespace=nestor-system

// NotAllowed is the error for a ToolServer that the user of a task may not use.
type NotAllowed struct{ message string }

func (n *NotAllowed) Error() string { return n.message }

// CheckUse returns a *NotAllowed if the user of a standalone task of type Tool may not use the ToolServer of its tool.
func (t *Tools) CheckUse(ctx context.Context, task *v1beta1.AgentTask) error {
	name, _, ok := strings.Cut(task.Spec.Tool, "__")
	if !ok {
		return nil
	}
	server, err := t.Finder.ToolServer(ctx, task.Namespace, name)
	if err != nil {
		return err
	}
	return t.checkUse(ctx, task, server)
}

// checkUseOf does the same for an agent that is about to call a tool. The server may be another one than at the start:
// deleting the namespace's own server reveals a shared server of the same name.
func (t *Tools) checkUseOf(ctx context.Context, a ledger.Agent, server *v1beta1.ToolServer) error {
	if a.Kind != "AgentTask" || a.Parent != "" || server.Namespace == a.Namespace {
		return nil
	}
	var task v1beta1.AgentTask
	if err := t.Finder.Reader.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, &task); err != nil {
		return fmt.Errorf("get the task %s/%s: %w", a.Namespace, a.Name, err)
	}
	if string(task.UID) != a.UID {
		return &NotAllowed{"its task was deleted"}
	}
	return t.checkUse(ctx, &task, server)
}

// checkUse returns a *NotAllowed if the user of a task may not use a ToolServer. The call needs no approval. A policy
// checks the permission in the namespace of the task, but only the operator finds shared ToolServers.
func (t *Tools) checkUse(ctx context.Context, task *v1beta1.AgentTask, server *v1beta1.ToolServer) error {
	if server.Namespace == task.Namespace {
		return nil
	}
	user := task.Spec.User
	if user == "" {
		return &NotAllowed{fmt.Sprintf("the ToolServer %s is shared by the namespace %s, and the task does not name its user: "+
			"create it again with spec.user", server.Name, server.Namespace)}
	}
	review := &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, Groups: groupsOf(user, task.Spec.UserGroups),
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: server.Namespace, Verb: "use",
				Group: v1beta1.GroupVersion.Group, Resource: "toolservers", Name: server.Name,
			},
		},
	}
	if err := t.Reviews.Create(ctx, review); err != nil {
		return fmt.Errorf("check whether %s may use the ToolServer %s/%s: %w", user, server.Namespace, server.Name, err)
	}
	if review.Status.Allowed {
		return nil
	}
	return &NotAllowed{fmt.Sprintf("the ToolServer %s is shared by the namespace %s, and %s does not have the verb use on it there: "+
		"ask for that permission, or list the groups that have it in spec.userGroups, and create the task again",
		server.Name, server.Namespace, user)}
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
