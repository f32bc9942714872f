// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/role"
)

// userRole has the permissions of a user of agents.
func userRole() client.Object {
	read := []string{"get", "list", "watch"}
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "nestor-user"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"nestor.dev"}, Resources: []string{"*"}, Verbs: read},
		{APIGroups: []string{"nestor.dev"}, Resources: []string{"agentchats", "agentmessages"}, Verbs: []string{"create"}},
		{APIGroups: []string{"nestor.dev"}, Resources: []string{"agentchats"}, Verbs: []string{"delete", "patch"}},
		{APIGroups: []string{"nestor.dev"}, Resources: []string{"agenttriggers"}, Verbs: []string{"patch"}},
		{APIGroups: []string{"nestor.dev"}, Resources: []string{"agenttasks"}, Verbs: []string{"create"}},
		{APIGroups: []string{"history.nestor.dev"}, Resources: []string{"*"}, Verbs: read},
	}}
}

// binding grants a user, and the robot, access to the namespace with the user's name.
func binding(name string) client.Object {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "nestor-user"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "nestor-user"},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name},
			{Kind: rbacv1.ServiceAccountKind, Namespace: name, Name: "robot"},
		},
	}
}

func serviceAccount(namespace, name string) client.Object {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// provider returns the provider of the scripted model, with a price.
func provider(namespace, url string) client.Object {
	p := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	p.Spec.BaseURL, p.Spec.DefaultModel = url, "scripted"
	input, output := int64(3_000_000), int64(15_000_000)
	p.Spec.Models = []v1beta1.ModelInfo{{Name: "scripted", InputMicrosPerMillion: &input, OutputMicrosPerMillion: &output}}
	return p
}

// quota returns a budget of a day that the flows do not reach.
func quota(namespace string) client.Object {
	tokens := int64(2_000_000)
	q := &v1beta1.AgentQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "daily"}}
	q.Spec.Period, q.Spec.MaxTokens = v1beta1.QuotaDay, &tokens
	return q
}

func toolServer(namespace, url string) client.Object {
	t := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "notes"}}
	t.Spec.URL = url
	return t
}

// scribe returns a role that writes with a tool and so needs approval.
func scribe(namespace string) client.Object {
	r := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scribe"}}
	r.Spec = v1beta1.AgentRoleSpec{
		DisplayName: "Scribe", Icon: "✍️", Description: "Writes notes and keeps them in order.", SystemPrompt: "You write notes.",
		Tools: &v1beta1.RoleTools{Allow: []string{"notes__*", "calculator", "think"}}, Limits: &v1beta1.RoleLimits{MaxIterations: 1000, MaxDurationSeconds: 3600},
		Delegation: &v1beta1.Delegation{Roles: []string{"scribe", "reviewer"}},
		Approval:   &v1beta1.ApprovalPolicy{Editable: true},
	}
	return r
}

// orchestrator returns an orchestrator role that may also delegate to the scribe.
func orchestrator(namespace string) client.Object {
	builtIn, _ := role.BuiltIn(role.Orchestrator)
	r := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role.Orchestrator}}
	r.Spec.Delegation = &v1beta1.Delegation{Roles: append(builtIn.Delegates(), "scribe", "builder")}
	return r
}

// nightly returns a trigger that people fire by hand: its schedule is far away.
func nightly(namespace string) client.Object {
	t := &v1beta1.AgentTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nightly"}}
	t.Spec.Schedule = &v1beta1.TriggerSchedule{Cron: "0 0 29 2 *", TimeZone: "Europe/Berlin"}
	t.Spec.Task = &v1beta1.TriggerTask{Role: "researcher", Instruction: "Research the history of the lighthouse of Alexandria."}
	return t
}

// onComments returns a trigger of a webhook with a condition.
func onComments(namespace string) client.Object {
	t := &v1beta1.AgentTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "on-comments"}}
	t.Spec.Webhook = &v1beta1.TriggerWebhook{Format: v1beta1.WebhookGitHub, SecretKeyRef: v1beta1.SecretKeyRef{Name: "github", Key: "secret"}, When: "body.action == 'created'"}
	t.Spec.Task = &v1beta1.TriggerTask{Role: "researcher", Instruction: "Research the history of the lighthouse of Alexandria."}
	return t
}
