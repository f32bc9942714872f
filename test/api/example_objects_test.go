// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nestor "github.com/nestor-dev/nestor/api/v1beta1"
)

// createExampleObjects fills a namespace with objects of every kind in the middle of their work, as the operator would leave
// them.
func createExampleObjects(ctx context.Context, namespace string) {
	GinkgoHelper()
	for _, object := range exampleObjects() {
		object.SetNamespace(namespace)
		// Create clears the status of its argument.
		withStatus := object.DeepCopyObject().(client.Object)
		Expect(api.Create(ctx, object)).To(Succeed())
		withStatus.SetResourceVersion(object.GetResourceVersion())
		Expect(api.Status().Update(ctx, withStatus)).To(Succeed())
	}
}

func exampleObjects() []client.Object {
	usage := nestor.Usage{PromptTokens: 10200, CompletionTokens: 1300, TotalTokens: 11500, ModelCalls: 7, CostMicros: ptr.To(int64(25750))}
	approval := &nestor.Waiting{Kind: nestor.WaitingApproval, Text: "github__create_release {}", Tool: "github__create_release", Arguments: &runtime.RawExtension{Raw: []byte("{}")}, ToolCall: "call_1"}
	ready := condition(nestor.ConditionReady, metav1.ConditionTrue, nestor.ReasonReady)
	return []client.Object{
		&nestor.AgentChat{
			ObjectMeta: metav1.ObjectMeta{Name: "release-notes"},
			Spec:       nestor.AgentChatSpec{User: "alice"},
			Status: nestor.AgentChatStatus{
				Phase: nestor.ChatWaiting, Messages: 3, Usage: usage, Conditions: ready,
				Tasks: nestor.TaskCounts{Running: 1, Waiting: 1, Failed: 1},
			},
		},
		&nestor.AgentMessage{
			ObjectMeta: metav1.ObjectMeta{Name: "release-notes-1"},
			Spec:       nestor.AgentMessageSpec{Chat: "release-notes", Content: "Please write the release notes."},
			Status:     nestor.AgentMessageStatus{Phase: nestor.MessageHandled, Reason: nestor.ReasonHandled, Preview: "Please write the release notes."},
		},
		&nestor.AgentMessage{
			ObjectMeta: metav1.ObjectMeta{Name: "release-notes-2"},
			Spec: nestor.AgentMessageSpec{
				Chat: "release-notes", Role: nestor.RoleAssistant, Task: "edit", InReplyTo: "release-notes-1",
				Content: "Agent Release editor asks for approval of github__create_release (call_1).",
			},
			Status: nestor.AgentMessageStatus{Phase: nestor.MessageHandled, Reason: nestor.ReasonHandled, Preview: "Agent Release editor asks for approval of githu…"},
		},
		&nestor.AgentMessage{
			ObjectMeta: metav1.ObjectMeta{Name: "release-notes-3"},
			Spec: nestor.AgentMessageSpec{
				Chat: "release-notes", User: "alice", Approval: &nestor.Approval{Task: "edit", ToolCall: "call_0", Decision: nestor.DecisionApprove},
			},
			Status: nestor.AgentMessageStatus{Phase: nestor.MessageRejected, Reason: nestor.ReasonWrongToolCall, Preview: "WrongToolCall: Approve a call of edit"},
		},
		&nestor.AgentTask{
			ObjectMeta: metav1.ObjectMeta{Name: "edit"},
			Spec: nestor.AgentTaskSpec{
				Chat: "release-notes", Type: nestor.TaskAgent, Role: "release-editor", Instruction: "Write the notes.", Group: "g1",
			},
			Status: nestor.AgentTaskStatus{
				Phase: nestor.TaskWaiting, SubAgent: "edit", Waiting: approval, Iterations: 7, Usage: usage,
				Conditions: condition(nestor.ConditionSucceeded, metav1.ConditionUnknown, nestor.ReasonWaitingForApproval),
			},
		},
		&nestor.AgentTask{
			ObjectMeta: metav1.ObjectMeta{Name: "sum"},
			Spec:       nestor.AgentTaskSpec{Type: nestor.TaskTool, Tool: "calculator"},
			Status: nestor.AgentTaskStatus{
				Phase: nestor.TaskFailed, Error: &nestor.RunError{Kind: nestor.ErrorTool, Message: "expression is missing"},
				Conditions: condition(nestor.ConditionSucceeded, metav1.ConditionFalse, string(nestor.ErrorTool)),
			},
		},
		&nestor.SubAgent{
			ObjectMeta: metav1.ObjectMeta{Name: "edit"},
			Spec: nestor.SubAgentSpec{
				Chat: "release-notes", Task: "edit", Role: "release-editor", Depth: 1, Instruction: "Write the notes.", Model: "gpt-5",
			},
			Status: nestor.SubAgentStatus{
				Phase: nestor.SubAgentWaitingForSubAgents, Children: nestor.ChildCounts{Pending: 1, Finished: 1}, Iterations: 7, Usage: usage,
				Conditions: condition(nestor.ConditionSucceeded, metav1.ConditionUnknown, nestor.ReasonRunning),
			},
		},
		&nestor.SubAgent{
			ObjectMeta: metav1.ObjectMeta{Name: "research"},
			Spec: nestor.SubAgentSpec{
				Chat: "release-notes", Task: "research", Parent: "edit", Role: "researcher", Depth: 2, Instruction: "Read the changes.", Model: "gpt-5",
			},
			Status: nestor.SubAgentStatus{
				Phase: nestor.SubAgentWaitingForUser, Question: "Which version?", Iterations: 2,
				Conditions: condition(nestor.ConditionSucceeded, metav1.ConditionUnknown, nestor.ReasonWaitingForUser),
			},
		},
		&nestor.AgentRole{
			ObjectMeta: metav1.ObjectMeta{Name: "release-editor"},
			Spec: nestor.AgentRoleSpec{
				DisplayName: "Release editor", SystemPrompt: "You edit release notes.", Model: "gpt-5",
				Delegation: &nestor.Delegation{Roles: []string{"researcher", "tester"}}, AsTool: &nestor.RoleAsTool{Name: "EditNotes"},
			},
			Status: nestor.AgentRoleStatus{Conditions: ready},
		},
		&nestor.ModelProvider{
			ObjectMeta: metav1.ObjectMeta{Name: "default"},
			Spec: nestor.ModelProviderSpec{
				BaseURL: "https://models.example.com/v1", DefaultModel: "gpt-5", Fallbacks: []string{"spare"},
			},
			Status: nestor.ModelProviderStatus{Conditions: ready},
		},
		&nestor.AgentQuota{
			ObjectMeta: metav1.ObjectMeta{Name: "daily"},
			Spec:       nestor.AgentQuotaSpec{Period: nestor.QuotaDay, MaxTokens: new(int64(5_000_000)), MaxCostMicros: new(int64(20_000_000)), MaxActiveAgents: new(int32(20))},
			Status: nestor.AgentQuotaStatus{
				Used:         nestor.QuotaAmount{Tokens: new(int64(4_998_000)), CostMicros: new(int64(12_500_000)), Currency: "EUR"},
				Remaining:    nestor.QuotaAmount{Tokens: new(int64(2_000)), CostMicros: new(int64(7_500_000)), Currency: "EUR"},
				ActiveAgents: 3,
				ResetTime:    &metav1.Time{Time: time.Date(2026, time.November, 16, 0, 0, 0, 0, time.UTC)},
				Conditions:   condition(nestor.ConditionReady, metav1.ConditionTrue, nestor.ReasonQuotaExhausted),
			},
		},
		&nestor.ToolPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "careful-writes"},
			Spec: nestor.ToolPolicySpec{Rules: []nestor.PolicyRule{
				{Name: "writes", AllowWhen: "call.readOnly || !('untrusted' in labels)", Otherwise: nestor.OutcomeRequireApproval},
				{Name: "no-secret-files", AllowWhen: "call.tool != 'read' || !call.arguments.path.startsWith('secrets/')"},
			}},
			Status: nestor.ToolPolicyStatus{Conditions: ready},
		},
		&nestor.AgentEvaluation{
			ObjectMeta: metav1.ObjectMeta{Name: "release-notes"},
			Spec:       nestor.AgentEvaluationSpec{Role: "release-editor", Cases: []nestor.EvaluationCase{{Name: "one", TaskUID: "a"}}},
			Status: nestor.AgentEvaluationStatus{
				Verdict: nestor.VerdictFailed, CandidateRevision: "3f2a9c", BaselineRevision: "81b0d2", Regressions: 2,
				Candidate:  &nestor.EvaluationLane{Passed: 8, Failed: 2, PassRate: new(int32(80))},
				Conditions: condition(nestor.ConditionReady, metav1.ConditionTrue, nestor.ReasonEvaluationFailed),
			},
		},
		&nestor.AgentTrigger{
			ObjectMeta: metav1.ObjectMeta{Name: "nightly-review"},
			Spec: nestor.AgentTriggerSpec{
				Schedule: &nestor.TriggerSchedule{Cron: "0 7 * * 1-5", TimeZone: "Europe/Berlin"},
				Task:     &nestor.TriggerTask{Role: "reviewer", Instruction: "Review the dependencies."},
			},
			Status: nestor.AgentTriggerStatus{
				Firings: 12, Dropped: 1, Active: []string{"nightly-review-bcdfghjklm"}, Conditions: ready,
				NextScheduleTime: &metav1.Time{Time: time.Date(2026, time.November, 17, 6, 0, 0, 0, time.UTC)},
			},
		},
		&nestor.AgentTrigger{
			ObjectMeta: metav1.ObjectMeta{Name: "pull-requests"},
			Spec: nestor.AgentTriggerSpec{
				Suspend: true, Webhook: &nestor.TriggerWebhook{Format: nestor.WebhookGitHub, SecretKeyRef: nestor.SecretKeyRef{Name: "github", Key: "webhook"}},
				Message: &nestor.TriggerMessage{Chat: "release-notes", Content: "Look at {{ body.number }}."},
			},
			Status: nestor.AgentTriggerStatus{Conditions: condition(nestor.ConditionReady, metav1.ConditionTrue, nestor.ReasonSuspended)},
		},
		&nestor.ToolServer{
			ObjectMeta: metav1.ObjectMeta{Name: "github"},
			Spec:       nestor.ToolServerSpec{URL: "https://tools.example.com/mcp"},
			Status: nestor.ToolServerStatus{
				ToolCount:  41,
				Conditions: condition(nestor.ConditionReady, metav1.ConditionFalse, nestor.ReasonUnauthorized),
			},
		},
	}
}

func condition(kind string, status metav1.ConditionStatus, reason string) []metav1.Condition {
	return []metav1.Condition{{
		Type: kind, Status: status, Reason: reason, ObservedGeneration: 1,
		LastTransitionTime: metav1.NewTime(time.Date(2026, time.November, 15, 0, 0, 0, 0, time.UTC)),
	}}
}
