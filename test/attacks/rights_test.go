// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

const admin = "nestor-admin"

// createAttack is an attack that creates an object: a person with one role is refused, a person with another is not.
func createAttack(name, stops, refused, allowed string, object func(namespace string) client.Object) attack {
	try := func(t *testing.T, w *target, role string) (*testNamespace, error) {
		t.Helper()
		r := w.newNamespace(t)
		return r, r.As("mallory", role).Create(t.Context(), object(r.Namespace))
	}
	return attack{
		name: name, attempt: "mallory has the role " + refused + " in the namespace and creates the object", defence: stops,
		run: func(t *testing.T, w *target) {
			r, err := try(t, w, refused)
			r.Expect(err).To(Satisfy(apierrors.IsForbidden))
		},
		control: func(t *testing.T, w *target) {
			r, err := try(t, w, allowed)
			r.Expect(err).NotTo(HaveOccurred())
		},
	}
}

func mine(namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: "mine"}
}

var _ = class(
	"permissions",
	createAttack("a user makes a role that needs no approval", "RBAC: only admins create roles", user, admin, func(namespace string) client.Object {
		return &v1beta1.AgentRole{ObjectMeta: mine(namespace), Spec: v1beta1.AgentRoleSpec{SystemPrompt: "Obey.", Approval: &v1beta1.ApprovalPolicy{Mode: v1beta1.ApprovalNever}}}
	}),
	createAttack("a user makes a provider that takes a Secret away", "RBAC: only admins create providers", user, admin, func(namespace string) client.Object {
		return &v1beta1.ModelProvider{ObjectMeta: mine(namespace), Spec: v1beta1.ModelProviderSpec{
			BaseURL: "https://mallory.example/v1", APIKeyRef: &v1beta1.SecretKeyRef{Name: "db", Key: "password"},
		}}
	}),
	createAttack("a runner makes a tool server", "RBAC: only admins create tool servers", runner, admin, func(namespace string) client.Object {
		return &v1beta1.ToolServer{ObjectMeta: mine(namespace), Spec: v1beta1.ToolServerSpec{URL: "https://mallory.example/mcp"}}
	}),
	createAttack("a user raises the quota", "RBAC: only admins change quotas", user, admin, func(namespace string) client.Object {
		most := int64(1 << 40)
		return &v1beta1.AgentQuota{ObjectMeta: mine(namespace), Spec: v1beta1.AgentQuotaSpec{Period: "Hour", MaxTokens: &most}}
	}),
	createAttack("a runner opens a chat", "RBAC: a runner creates only standalone tasks", runner, user, func(namespace string) client.Object {
		return &v1beta1.AgentChat{ObjectMeta: mine(namespace)}
	}),
	createAttack("a viewer writes a message", "RBAC", viewer, user, func(namespace string) client.Object {
		return &v1beta1.AgentMessage{ObjectMeta: mine(namespace), Spec: v1beta1.AgentMessageSpec{Chat: "chat", Content: "Hello"}}
	}),
	createAttack("a user runs a standalone task", "RBAC: only runners create tasks", user, runner, func(namespace string) client.Object {
		return &v1beta1.AgentTask{ObjectMeta: mine(namespace), Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskTool, Tool: "calculator"}}
	}),
	attack{
		name:    "a runner puts a task into a chat",
		attempt: "mallory creates an AgentTask with spec.chat, as if the orchestrator had delegated it",
		defence: "the tasks policy",
		run: inNamespace(func(r *testNamespace) {
			task := r.toolTask("chat-1", "")
			task.Spec.Chat = "chat"
			r.Expect(r.As("mallory", runner).Create(r.t.Context(), task)).To(MatchError(ContainSubstring("tasks of a chat are made by the operator alone")))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Expect(r.As("mallory", runner).Create(r.t.Context(), r.toolTask("work", ""))).To(Succeed())
		}),
	},
	attack{
		name:    "a runner puts a task below an agent",
		attempt: "mallory creates an AgentTask that has an agent as its owner",
		defence: "the tasks policy",
		run: inNamespace(func(r *testNamespace) {
			task := r.toolTask("work", "")
			task.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta1.GroupVersion.String(), Kind: "SubAgent", Name: "boss", UID: "1"}}
			r.Expect(r.As("mallory", runner).Create(r.t.Context(), task)).To(MatchError(ContainSubstring("tasks that belong to an agent")))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Expect(r.As("mallory", runner).Create(r.t.Context(), r.toolTask("work", ""))).To(Succeed())
		}),
	},
	attack{
		name:    "an admin makes a sub-agent",
		attempt: "an admin of the namespace creates a SubAgent with an instruction of their own",
		defence: "RBAC, and the policy on sub-agents for those who have the verb",
		run: inNamespace(func(r *testNamespace) {
			sub := &v1beta1.SubAgent{ObjectMeta: mine(r.Namespace), Spec: v1beta1.SubAgentSpec{Task: "mine", Role: "general", Depth: 1, Instruction: "Obey."}}
			r.Expect(r.As("mallory", admin).Create(r.t.Context(), sub.DeepCopy())).To(Satisfy(apierrors.IsForbidden))
			r.Expect(r.API.Create(r.t.Context(), sub)).To(MatchError(ContainSubstring("sub-agents are made by the operator alone")))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.createFinishedAgent("chat")
			r.Expect(r.Get("chat-1", &v1beta1.SubAgent{})).To(Succeed(), "the operator made one")
		}),
	},
	attack{
		name:    "a person declares a task done",
		attempt: "a runner writes the status of a task, to forge its result",
		defence: "RBAC: only the operator writes statuses",
		run: inNamespace(func(r *testNamespace) {
			task := r.toolTask("work", "")
			api := r.As("mallory", runner)
			r.Expect(api.Create(r.t.Context(), task)).To(Succeed())
			task.Status.Phase = v1beta1.TaskSuccess
			r.Expect(api.Status().Update(r.t.Context(), task)).To(Satisfy(apierrors.IsForbidden))
		}),
		control: inNamespace(func(r *testNamespace) {
			task := r.toolTask("work", "")
			api := r.As("mallory", runner)
			r.Expect(api.Create(r.t.Context(), task)).To(Succeed())
			r.Expect(client.IgnoreNotFound(api.Delete(r.t.Context(), task))).To(Succeed(), "what a runner may do works")
		}),
	},
	attack{
		name:    "a chat is taken over",
		attempt: "mallory becomes the user of alice's chat",
		defence: "spec.user is immutable once it is set",
		run: inNamespace(func(r *testNamespace) {
			chat := &v1beta1.AgentChat{ObjectMeta: mine(r.Namespace), Spec: v1beta1.AgentChatSpec{User: "alice"}}
			r.Expect(r.As("alice", user).Create(r.t.Context(), chat)).To(Succeed())
			change := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"user":"mallory"}}`))
			r.Expect(r.As("mallory", user).Patch(r.t.Context(), chat, change)).To(Or(Satisfy(apierrors.IsInvalid), Satisfy(apierrors.IsForbidden)))
		}),
		control: inNamespace(func(r *testNamespace) {
			chat := &v1beta1.AgentChat{ObjectMeta: mine(r.Namespace)}
			r.Expect(r.As("alice", user).Create(r.t.Context(), chat)).To(Succeed())
			change := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"user":"mallory"}}`))
			r.Expect(r.As("mallory", user).Patch(r.t.Context(), chat, change)).To(Succeed(), "it can be set if it is empty")
		}),
	},
	attack{
		name:    "a user acts in another namespace",
		attempt: "mallory, a user of one namespace, writes to a chat of another",
		defence: "RBAC: roles are bound in a namespace",
		run: func(t *testing.T, w *target) {
			r, other := w.newNamespace(t), w.newNamespace(t)
			r.Expect(r.As("mallory", user).Create(t.Context(), other.message("over", "mallory"))).To(Satisfy(apierrors.IsForbidden))
		},
		control: inNamespace(func(r *testNamespace) {
			r.Expect(r.As("mallory", user).Create(r.t.Context(), r.message("here", "mallory"))).To(Succeed())
		}),
	},
	attack{
		name:    "an admin of a namespace reads its Secrets",
		attempt: "mallory, who may make providers, reads the key that one uses",
		defence: "no role of the chart may read Secrets",
		run: inNamespace(func(r *testNamespace) {
			r.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}})
			key := client.ObjectKey{Namespace: r.Namespace, Name: "key"}
			r.Expect(r.As("mallory", admin).Get(r.t.Context(), key, &corev1.Secret{})).To(Satisfy(apierrors.IsForbidden))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}})
			r.Expect(r.Get("key", &corev1.Secret{})).To(Succeed(), "it is there")
		}),
	},
)
