// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ConditionReady is the condition of what stands for longer: AgentChat, AgentRole, ModelProvider and ToolServer.
//
// Meaning: the object can be used now. Polarity: True is good. Present: as soon as the operator has seen the object.
//
//   - True: ReasonReady.
//   - False: for a chat, a reason of a missing reference, ReasonModelError, ReasonPriceUnknown, ReasonBudgetExhausted or
//     ReasonLedgerUnavailable; for the other kinds, a reason of a missing reference, ReasonInvalidSpec,
//     ReasonUnreachable or ReasonUnauthorized. The message says what to create or mend.
//   - Unknown: ReasonProgressing, while it is being looked at for the first time.
const ConditionReady = "Ready"

// ConditionSucceeded is the condition of runs: AgentTask, SubAgent, and AgentMessage.
//
// Meaning: the run has ended with a result, or the message was handled. Polarity: True is good. Present: as soon as
// the operator has seen the object. `kubectl wait --for=condition=Succeeded` waits for success, and
// `--for=condition=Succeeded=False` for the opposite.
//
//   - True: ReasonSucceeded, or ReasonHandled for a message.
//   - False: one of the error kinds (Cancelled, TimedOut, IterationLimit, ...; see ErrorKind), or for a message
//     ReasonTaskNotFound, ReasonTaskFinished, ReasonNotWaiting or ReasonWrongToolCall. The message says why.
//   - Unknown: the run is active (ReasonRunning), waits for a person (ReasonWaitingForUser, ReasonAwaitingApproval), or
//     has not begun (ReasonPending, ReasonParallelLimit, or a reason of a missing reference, which it waits for; a
//     message: ReasonChatNotFound).
const ConditionSucceeded = "Succeeded"

// Reasons of ConditionReady.
const (
	// ReasonReady: the object can be used.
	ReasonReady = "Ready"
	// ReasonProgressing: the operator is looking at it for the first time.
	ReasonProgressing = "Progressing"
	// ReasonModelError: the last model call of the chat failed for good; the next user message tries again.
	ReasonModelError = "ModelError"
	// ReasonBudgetExhausted: the tokens or the money of the chat are used up; raise spec.limits to go on.
	ReasonBudgetExhausted = "BudgetExhausted"
	// ReasonInvalidSpec: the spec asks for something that cannot work, such as a bad JSON schema.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonUnreachable: the endpoint does not answer.
	ReasonUnreachable = "Unreachable"
	// ReasonUnauthorized: the endpoint refuses the key.
	ReasonUnauthorized = "Unauthorized"
)

// Reasons of ConditionSucceeded.
const (
	// ReasonSucceeded: the run ended with a result.
	ReasonSucceeded = "Succeeded"
	// ReasonPending: the run will begin.
	ReasonPending = "Pending"
	// ReasonParallelLimit: the chat's maxParallelTasks agents are at work; the run begins when one of them ends or waits.
	ReasonParallelLimit = "ParallelLimit"
	// ReasonRunning: the run is at work.
	ReasonRunning = "Running"
	// ReasonWaitingForUser: an agent asked a question.
	ReasonWaitingForUser = "WaitingForUser"
	// ReasonAwaitingApproval: a tool call needs a person's decision.
	ReasonAwaitingApproval = "AwaitingApproval"
	// ReasonHandled: the message was taken into a turn, or did what it says.
	ReasonHandled = "Handled"
	// ReasonChatNotFound: the message waits for its chat to appear.
	ReasonChatNotFound = "ChatNotFound"
	// ReasonTaskNotFound: the message names a task that its chat does not have.
	ReasonTaskNotFound = "TaskNotFound"
	// ReasonTaskFinished: the message names a task that has ended.
	ReasonTaskFinished = "TaskFinished"
	// ReasonNotWaiting: the message decides or answers something that nobody waits for.
	ReasonNotWaiting = "NotWaiting"
	// ReasonWrongToolCall: the task waits, but not for a decision on the call that the message names.
	ReasonWrongToolCall = "WrongToolCall"
)

// Reasons of a missing reference, on both conditions. None of them is a failure: the object goes on by itself when what
// is missing appears.
const (
	// ReasonRoleNotFound: no AgentRole of that name may be used here.
	ReasonRoleNotFound = "RoleNotFound"
	// ReasonProviderNotFound: no ModelProvider of that name may be used here.
	ReasonProviderNotFound = "ProviderNotFound"
	// ReasonModelNotSet: neither chat, role nor provider names a model.
	ReasonModelNotSet = "ModelNotSet"
	// ReasonSecretNotFound: a Secret, or its key, is missing.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonConfigMapNotFound: a ConfigMap, or its key, is missing.
	ReasonConfigMapNotFound = "ConfigMapNotFound"
	// ReasonToolServerNotFound: an allowed tool names a ToolServer that may not be used here.
	ReasonToolServerNotFound = "ToolServerNotFound"
	// ReasonToolServerNotReady: an allowed tool names a ToolServer that is not Ready.
	ReasonToolServerNotReady = "ToolServerNotReady"
	// ReasonToolNotFound: a task of type Tool names a tool that does not exist.
	ReasonToolNotFound = "ToolNotFound"
	// ReasonWorkspaceUnavailable: the operator cannot run a workspace from this source, or the source's claim or directory is missing.
	ReasonWorkspaceUnavailable = "WorkspaceUnavailable"
	// ReasonSubAgentNotFound: continueFrom names a sub-agent that does not exist.
	ReasonSubAgentNotFound = "SubAgentNotFound"
	// ReasonPriceUnknown: maxCostMicros is set and the model has no price in its ModelProvider.
	ReasonPriceUnknown = "PriceUnknown"
	// ReasonLedgerUnavailable: the ledger does not answer; nothing is lost, and work goes on when it does.
	ReasonLedgerUnavailable = "LedgerUnavailable"
)
