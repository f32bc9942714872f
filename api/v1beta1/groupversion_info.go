// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 is Nestor's Kubernetes API: ten namespaced kinds in the group nestor.dev.
//
// Users write AgentChat, AgentMessage and AgentTrigger; platform teams write AgentRole, ModelProvider, ToolServer, ToolPolicy, AgentQuota and AgentEvaluation; the operator
// writes AgentTask and SubAgent (users write standalone AgentTasks). Spec is intent, status is a bounded projection of
// the ledger, and phases are for people: programs read conditions, which docs/reference/conditions.md documents.
//
// +kubebuilder:object:generate=true
// +groupName=nestor.dev
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "nestor.dev", Version: "v1beta1"}

// AddToScheme registers the kinds of this package with a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&AgentChat{}, &AgentChatList{},
		&AgentMessage{}, &AgentMessageList{},
		&AgentQuota{}, &AgentQuotaList{},
		&AgentRole{}, &AgentRoleList{},
		&AgentTask{}, &AgentTaskList{},
		&AgentTrigger{}, &AgentTriggerList{},
		&AgentEvaluation{}, &AgentEvaluationList{},
		&ModelProvider{}, &ModelProviderList{},
		&SubAgent{}, &SubAgentList{},
		&ToolPolicy{}, &ToolPolicyList{},
		&ToolServer{}, &ToolServerList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
