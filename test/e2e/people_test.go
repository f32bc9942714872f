// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// person is a user of a namespace who uses only the Kubernetes API.
type person struct {
	client.WithWatch
	name, namespace string
}

func (c *cluster) person(name, namespace string) person { return person{c.as(name), name, namespace} }

func (p person) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: p.namespace, Name: name}
}

func (p person) openChat(ctx context.Context, name string, workspace *v1beta1.Workspace) *v1beta1.AgentChat {
	GinkgoHelper()
	chat := &v1beta1.AgentChat{ObjectMeta: p.meta(name)}
	chat.Spec.Workspace = workspace
	Expect(p.Create(ctx, chat)).To(Succeed())
	return chat
}

func (p person) sendMessage(ctx context.Context, spec v1beta1.AgentMessageSpec) *v1beta1.AgentMessage {
	GinkgoHelper()
	message := &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, GenerateName: "said-"}, Spec: spec}
	Expect(p.Create(ctx, message)).To(Succeed())
	return message
}

func (p person) approve(ctx context.Context, chat, task, call string) {
	GinkgoHelper()
	spec := v1beta1.AgentMessageSpec{Chat: chat, User: p.name, Approval: &v1beta1.Approval{Task: task, ToolCall: call, Decision: v1beta1.DecisionApprove}}
	if chat == "" {
		spec.Task = task
	}
	p.sendMessage(ctx, spec)
}

func (p person) posts(chat string) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		var messages v1beta1.AgentMessageList
		err := p.List(ctx, &messages, client.InNamespace(p.namespace), client.MatchingLabels{v1beta1.LabelChat: chat})
		var texts []string
		for _, m := range messages.Items {
			if m.Spec.Role != v1beta1.RoleUser {
				texts = append(texts, m.Spec.Content)
			}
		}
		return texts, err
	}
}

func (p person) chat(name string) func(context.Context) (*v1beta1.AgentChat, error) {
	return func(ctx context.Context) (*v1beta1.AgentChat, error) {
		var chat v1beta1.AgentChat
		return &chat, p.Get(ctx, types.NamespacedName{Namespace: p.namespace, Name: name}, &chat)
	}
}

func (p person) task(name string) func(context.Context) (*v1beta1.AgentTask, error) {
	return func(ctx context.Context) (*v1beta1.AgentTask, error) {
		var task v1beta1.AgentTask
		return &task, p.Get(ctx, types.NamespacedName{Namespace: p.namespace, Name: name}, &task)
	}
}

func (p person) tasks(chat string) func(context.Context) ([]v1beta1.AgentTask, error) {
	return func(ctx context.Context) ([]v1beta1.AgentTask, error) {
		var tasks v1beta1.AgentTaskList
		err := p.List(ctx, &tasks, client.InNamespace(p.namespace), client.MatchingLabels{v1beta1.LabelChat: chat})
		return tasks.Items, err
	}
}

// waitsFor matches a chat that waits for its user.
func waitsFor(kind v1beta1.WaitingKind) OmegaMatcher {
	return HaveField("Status.Waiting", ContainElement(HaveField("Kind", kind)))
}
