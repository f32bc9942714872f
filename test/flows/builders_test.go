// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/stack"
)

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

type chatBuilder struct{ chat *v1beta1.AgentChat }

// MakeChat builds a chat.
func MakeChat(name string) chatBuilder {
	return chatBuilder{&v1beta1.AgentChat{ObjectMeta: named(name)}}
}

func (b chatBuilder) Role(name string) chatBuilder { b.chat.Spec.Role = name; return b }

func (b chatBuilder) Provider(name string) chatBuilder { b.chat.Spec.ModelProvider = name; return b }

func (b chatBuilder) MaxDepth(n int32) chatBuilder { b.chat.Spec.Limits.MaxDepth = n; return b }

func (b chatBuilder) MaxTokens(n int64) chatBuilder { b.chat.Spec.Limits.MaxTotalTokens = n; return b }

func (b chatBuilder) MaxCost(n int64) chatBuilder { b.chat.Spec.Limits.MaxCostMicros = n; return b }

func (b chatBuilder) MaxPerQuestion(n int32) chatBuilder {
	b.chat.Spec.AutoAnswer.MaxPerQuestion = &n
	return b
}

func (b chatBuilder) Obj() *v1beta1.AgentChat { return b.chat }

type messageBuilder struct{ message *v1beta1.AgentMessage }

// MakeMessage builds a message of a user to the chat "chat".
func MakeMessage(name string) messageBuilder {
	return messageBuilder{&v1beta1.AgentMessage{ObjectMeta: named(name), Spec: v1beta1.AgentMessageSpec{Chat: "chat"}}}
}

func (b messageBuilder) Chat(name string) messageBuilder { b.message.Spec.Chat = name; return b }

// Task addresses the message to a standalone task.
func (b messageBuilder) Task(name string) messageBuilder {
	b.message.Spec.Chat, b.message.Spec.Task = "", name
	return b
}

func (b messageBuilder) Content(text string) messageBuilder { b.message.Spec.Content = text; return b }

func (b messageBuilder) InReplyTo(name string) messageBuilder {
	b.message.Spec.InReplyTo = name
	return b
}

func (b messageBuilder) Approve(task, call string) messageBuilder {
	b.message.Spec.Approval = &v1beta1.Approval{Task: task, ToolCall: call, Decision: v1beta1.DecisionApprove}
	return b.User(stack.Admin)
}

// Allow makes an approval an allowance, restricted by a pattern for the argument path.
func (b messageBuilder) Allow(pattern string) messageBuilder {
	b.message.Spec.Approval.Allow = &v1beta1.Allow{Arguments: []v1beta1.ArgumentPattern{{Name: "path", Pattern: pattern}}}
	return b
}

// Revoke ends an allowance.
func (b messageBuilder) Revoke(allowance string) messageBuilder {
	b.message.Spec.Revoke = &v1beta1.Revoke{Allowance: allowance}
	return b.User(stack.Admin)
}

// Digest sets the digest of the call that was shown to the deciding person.
func (b messageBuilder) Digest(digest string) messageBuilder {
	b.message.Spec.Approval.ArgumentsDigest = digest
	return b
}

// User sets the author of the message.
// Arguments changes the arguments of the call that the message approves.
func (b messageBuilder) Arguments(text string) messageBuilder {
	b.message.Spec.Approval.Arguments = text
	return b
}

func (b messageBuilder) User(name string) messageBuilder { b.message.Spec.User = name; return b }

func (b messageBuilder) Deny(task, call, comment string) messageBuilder {
	b.message.Spec.Approval = &v1beta1.Approval{Task: task, ToolCall: call, Decision: v1beta1.DecisionDeny, Comment: comment}
	return b.User(stack.Admin)
}

// Cancel cancels a task, or everything if it is "".
func (b messageBuilder) Cancel(task string) messageBuilder {
	b.message.Spec.Cancel = &v1beta1.Cancel{Task: task}
	return b.User(stack.Admin)
}

func (b messageBuilder) Obj() *v1beta1.AgentMessage { return b.message }

type taskBuilder struct{ task *v1beta1.AgentTask }

// MakeTask builds a standalone task for an agent with the role general.
func MakeTask(name, instruction string) taskBuilder {
	return taskBuilder{&v1beta1.AgentTask{ObjectMeta: named(name), Spec: v1beta1.AgentTaskSpec{
		Type: v1beta1.TaskAgent, Role: "general", Instruction: instruction,
	}}}
}

// MakeToolTask builds a standalone task of type Tool.
func MakeToolTask(name, tool, arguments string) taskBuilder {
	return taskBuilder{&v1beta1.AgentTask{ObjectMeta: named(name), Spec: v1beta1.AgentTaskSpec{
		Type: v1beta1.TaskTool, Tool: tool, Arguments: &runtime.RawExtension{Raw: []byte(arguments)},
	}}}
}

func (b taskBuilder) Role(name string) taskBuilder { b.task.Spec.Role = name; return b }

func (b taskBuilder) Provider(name string) taskBuilder { b.task.Spec.ModelProvider = name; return b }

func (b taskBuilder) Model(name string) taskBuilder { b.task.Spec.Model = name; return b }

func (b taskBuilder) ContinueFrom(name string) taskBuilder { b.task.Spec.ContinueFrom = name; return b }

// Output sets the schema of the data that the agent must submit.
func (b taskBuilder) Output(schema string) taskBuilder {
	b.task.Spec.OutputSchema = &runtime.RawExtension{Raw: []byte(schema)}
	return b
}

func (b taskBuilder) MaxIterations(n int32) taskBuilder {
	b.limits().MaxIterations = &n
	return b
}

func (b taskBuilder) MaxSeconds(n int32) taskBuilder {
	b.limits().MaxDurationSeconds = &n
	return b
}

func (b taskBuilder) limits() *v1beta1.TaskLimits {
	if b.task.Spec.Limits == nil {
		b.task.Spec.Limits = &v1beta1.TaskLimits{}
	}
	return b.task.Spec.Limits
}

func (b taskBuilder) Obj() *v1beta1.AgentTask { return b.task }

type roleBuilder struct{ role *v1beta1.AgentRole }

// MakeRole builds a role. With the name of a built-in role it is an overlay.
func MakeRole(name string) roleBuilder {
	return roleBuilder{&v1beta1.AgentRole{ObjectMeta: named(name)}}
}

func (b roleBuilder) Prompt(text string) roleBuilder { b.role.Spec.SystemPrompt = text; return b }

func (b roleBuilder) PromptFrom(configMap, key string) roleBuilder {
	b.role.Spec.SystemPromptFrom = &v1beta1.PromptSource{ConfigMapKeyRef: v1beta1.ConfigMapKeyRef{Name: configMap, Key: key}}
	return b
}

func (b roleBuilder) Provider(name string) roleBuilder { b.role.Spec.ModelProvider = name; return b }

func (b roleBuilder) Model(name string) roleBuilder { b.role.Spec.Model = name; return b }

func (b roleBuilder) Allow(globs ...string) roleBuilder {
	b.role.Spec.Tools = &v1beta1.RoleTools{Allow: globs}
	return b
}

func (b roleBuilder) Delegates(roles ...string) roleBuilder {
	b.role.Spec.Delegation = &v1beta1.Delegation{Roles: roles}
	return b
}

func (b roleBuilder) AsTool(name, schema string) roleBuilder {
	b.role.Spec.AsTool = &v1beta1.RoleAsTool{Name: name, InputSchema: &runtime.RawExtension{Raw: []byte(schema)}}
	return b
}

// Output sets the schema of the data that agents with the role must submit.
func (b roleBuilder) Output(schema string) roleBuilder {
	b.role.Spec.OutputSchema = &runtime.RawExtension{Raw: []byte(schema)}
	return b
}

func (b roleBuilder) MaxTokens(n int64) roleBuilder {
	b.role.Spec.Limits = &v1beta1.RoleLimits{MaxTotalTokens: n}
	return b
}

func (b roleBuilder) MaxCost(n int64) roleBuilder {
	b.role.Spec.Limits = &v1beta1.RoleLimits{MaxCostMicros: n}
	return b
}

func (b roleBuilder) Obj() *v1beta1.AgentRole { return b.role }

type providerBuilder struct{ provider *v1beta1.ModelProvider }

// MakeProvider builds a provider with a URL.
func MakeProvider(name, url string) providerBuilder {
	p := &v1beta1.ModelProvider{ObjectMeta: named(name)}
	p.Spec.BaseURL, p.Spec.DefaultModel = url, "scripted"
	return providerBuilder{p}
}

func (b providerBuilder) NoModel() providerBuilder { b.provider.Spec.DefaultModel = ""; return b }

func (b providerBuilder) Key(secret, key string) providerBuilder {
	b.provider.Spec.APIKeyRef = &v1beta1.SecretKeyRef{Name: secret, Key: key}
	return b
}

func (b providerBuilder) Retries(n int32) providerBuilder { b.provider.Spec.MaxRetries = &n; return b }

func (b providerBuilder) Fallback(names ...v1beta1.Name) providerBuilder {
	b.provider.Spec.Fallbacks = names
	return b
}

func (b providerBuilder) TimeoutSeconds(n int32) providerBuilder {
	b.provider.Spec.RequestTimeoutSeconds = n
	return b
}

// Price sets the price of a million input and output tokens in millionths.
func (b providerBuilder) Price(model string, micros int64) providerBuilder {
	b.provider.Spec.Models = []v1beta1.ModelInfo{{Name: model, InputMicrosPerMillion: &micros, OutputMicrosPerMillion: &micros}}
	return b
}

// Currency sets the currency of the prices.
func (b providerBuilder) Currency(code string) providerBuilder {
	b.provider.Spec.Currency = code
	return b
}

// Shared allows every namespace to use the provider.
func (b providerBuilder) Shared() providerBuilder {
	b.provider.Spec.AllowedNamespaces = &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}
	return b
}

func (b providerBuilder) Obj() *v1beta1.ModelProvider { return b.provider }

func MakeToolServer(name, url string) *v1beta1.ToolServer {
	s := &v1beta1.ToolServer{ObjectMeta: named(name)}
	s.Spec.URL = url
	return s
}

func MakeSecret(name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: named(name), StringData: map[string]string{key: value}}
}

func MakeConfigMap(name, key, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: named(name), Data: map[string]string{key: value}}
}
