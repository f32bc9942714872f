// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1beta1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
)

type spec = map[string]any

// kind is one of the eleven kinds, with an existing object and the spec of another one.
type kind struct {
	resource, kind string
	standing       string
	spec           spec
}

var kinds = []kind{
	{"agentchats", "AgentChat", "talk", spec{}},
	{"agentmessages", "AgentMessage", "hello", spec{"chat": "talk", "content": "Good morning."}},
	{"agenttasks", "AgentTask", "research", spec{"type": "Tool", "tool": "calculator", "arguments": spec{"expression": "6*7"}}},
	{"subagents", "SubAgent", "research", spec{"task": "new", "role": "general", "depth": int64(1), "instruction": "Look it up."}},
	{"agentroles", "AgentRole", "helper", spec{"systemPrompt": "You help."}},
	{"agentevaluations", "AgentEvaluation", "suite", spec{"role": "helper", "cases": []any{map[string]any{"name": "one", "taskUID": "0b0f3f3e-0000-0000-0000-000000000000"}}}},
	{"modelproviders", "ModelProvider", "default", spec{"baseURL": "http://127.0.0.1:1/v1"}},
	{"toolservers", "ToolServer", "tools", spec{"url": "http://127.0.0.1:1/mcp"}},
	{"toolpolicies", "ToolPolicy", "careful", spec{"mode": "Audit", "rules": []any{map[string]any{"name": "writes", "allowWhen": "call.readOnly"}}}},
	{"agenttriggers", "AgentTrigger", "nightly", spec{"schedule": spec{"cron": "0 0 1 1 *"}, "task": spec{"role": "general", "instruction": "Look."}}},
	{"agentquotas", "AgentQuota", "daily", spec{"period": "Day", "maxTokens": int64(1_000_000_000)}},
}

func resource(name string) schema.GroupVersionResource {
	return v1beta1.GroupVersion.WithResource(name)
}

func history(name string) schema.GroupVersionResource {
	return historyv1beta1.GroupVersion.WithResource(name)
}

func object(kind, name string, s spec) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1beta1.GroupVersion.String(), "kind": kind,
		"metadata": map[string]any{"namespace": team, "name": name}, "spec": s,
	}}
}

func standing(ctx context.Context, of, name string) *unstructured.Unstructured {
	GinkgoHelper()
	found, err := administrator().Resource(resource(of)).Namespace(team).Get(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return found
}

// createObjects creates an object of each kind in the namespace, and lets the operator work on a chat and a task, so that
// there are histories.
func createObjects(ctx context.Context) {
	GinkgoHelper()
	Expect(env.Provider(ctx, team, "default")).To(Succeed())
	for _, o := range []*unstructured.Unstructured{
		object("AgentRole", "helper", spec{"systemPrompt": "You help."}),
		object("AgentRole", "gated", spec{"systemPrompt": "You help.", "promotion": spec{"mode": "Gated"}}),
		object("ToolServer", "tools", spec{"url": "http://127.0.0.1:1/mcp"}),
		object("ToolPolicy", "careful", spec{"mode": "Audit", "rules": []any{map[string]any{"name": "writes", "allowWhen": "call.readOnly"}}}),
		object("AgentEvaluation", "suite", spec{"role": "helper", "cases": []any{map[string]any{"name": "one", "taskUID": "0b0f3f3e-0000-0000-0000-000000000000"}}}),
		object("AgentQuota", "daily", spec{"period": "Day", "maxTokens": int64(1_000_000_000)}),
		object("AgentChat", "talk", spec{}),
		object("AgentChat", "private", spec{"workspace": repository("login")}),
		object("AgentMessage", "hello", spec{"chat": "talk", "content": "Load"}),
		object("AgentTask", "research", spec{"type": "Agent", "role": "general", "instruction": "Load step 1"}),
	} {
		Expect(env.API.Create(ctx, o)).To(Succeed())
	}
	Eventually(func(ctx context.Context) (v1beta1.TaskPhase, error) {
		var task v1beta1.AgentTask
		err := env.API.Get(ctx, client.ObjectKey{Namespace: team, Name: "research"}, &task)
		if task.Status.Error != nil {
			return "", StopTrying(task.Status.Error.Message)
		}
		return task.Status.Phase, err
	}).WithContext(ctx).Should(Equal(v1beta1.TaskSuccess))
	Eventually(func(ctx context.Context) ([]v1beta1.AgentMessage, error) {
		var messages v1beta1.AgentMessageList
		err := env.API.List(ctx, &messages, client.InNamespace(team))
		return messages.Items, err
	}).WithContext(ctx).Should(ContainElement(HaveField("Spec.Role", v1beta1.RoleAssistant)), "the chat is answered")
	nightly := object("AgentTrigger", "nightly", spec{"schedule": spec{"cron": "0 0 1 1 *"}, "user": "runner", "task": spec{"role": "general", "instruction": "Look."}})
	_, err := as(runner).Resource(resource("agenttriggers")).Namespace(team).Create(ctx, nightly, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	// A task of the chat, and one of the sub-agent, as the operator creates them.
	for name, s := range map[string]spec{
		"of-the-chat":     {"chat": "talk", "type": "Tool", "tool": "calculator", "arguments": spec{"expression": "1+1"}},
		"of-the-research": {"type": "Tool", "tool": "calculator", "arguments": spec{"expression": "1+1"}},
	} {
		task := object("AgentTask", name, s)
		if name == "of-the-research" {
			task.SetOwnerReferences([]metav1.OwnerReference{{
				APIVersion: v1beta1.GroupVersion.String(), Kind: "SubAgent", Name: "research", UID: standing(ctx, "subagents", "research").GetUID(),
			}})
		}
		_, err := as(theOperator).Resource(resource("agenttasks")).Namespace(team).Create(ctx, task, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
	Eventually(func(ctx context.Context) (int, error) {
		calls, err := as(viewer).Resource(history("modelcalls")).Namespace(team).List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, err
		}
		return meta.LenList(calls), nil
	}).WithContext(ctx).Should(BeNumerically(">", 1), "the history API is served, and knows of the calls")
}
