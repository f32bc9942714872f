// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ConditionReady is the condition of what stands for longer: AgentChat, AgentRole, ModelProvider, ToolServer and AgentQuota.
//
// Meaning: the object can be used now. Polarity: True is good. Present: as soon as the operator has seen the object.
//
//   - True: ReasonReady; for a chat that pauses until a person sends the next message, ReasonPausedTurnLimit,
//     ReasonPausedTaskLimit, ReasonPausedTokenLimit or ReasonPausedLoop; for an AgentQuota also ReasonQuotaExhausted, while runs
//     wait for it.
//   - False: for a chat, a reason of a missing reference, ReasonModelError, ReasonPriceUnknown, ReasonBudgetExhausted,
//     ReasonQuotaExhausted, ReasonPostRefused, ReasonHistoryLost, ReasonLedgerUnavailable or another reason of a ledger that fails; for the other kinds, a reason of a missing reference, ReasonInvalidSpec,
//     ReasonUnreachable, ReasonUnauthorized, ReasonEndpointNotAllowed or ReasonInvalidResponse. The message says what to create or mend.
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
//     ReasonTaskNotFound, ReasonTaskFinished, ReasonNotWaiting, ReasonWrongToolCall, ReasonDigestMismatch or ReasonSeparation. The message says why.
//   - Unknown: the run is active (ReasonRunning), waits for a person (ReasonWaitingForUser, ReasonAwaitingApproval), waits for a
//     quota (ReasonQuotaExhausted, ReasonPriceUnknown for a quota of money, or ReasonLedgerQuota), or
//     has not begun (ReasonPending, ReasonParallelLimit, or a reason of a missing reference, which it waits for; a
//     message: ReasonChatNotFound).
const ConditionSucceeded = "Succeeded"

// ConditionProgressing is a condition of AgentChat, AgentTask and SubAgent.
//
// Meaning: work goes on, or waits for a model provider. Polarity: True is good. Present: only while a model call waits for longer than
// a second, and then it is False; it is removed when the call goes on. Waiting for a person or for other agents is not part of it.
//
//   - False: ReasonRateLimited, ReasonProviderUnavailable, ReasonRetrying or ReasonQueuedForProvider. The message has the
//     provider's words, the attempt, and when the next one begins.
const ConditionProgressing = "Progressing"

// ConditionToolsChanged is a condition of ToolServer.
//
// It says whether the server's tools differ from those that were pinned when they were first listed. It is there once they were listed.
//
//   - True: ReasonToolsWithheld. The message names the tools and says how to accept them.
//   - False: ReasonToolsAsPinned, or ReasonToolsAdded while there are tools that were added later, whose hints do not count.
const ConditionToolsChanged = "ToolsChanged"

// Reasons of ConditionToolsChanged.
const (
	// ReasonToolsWithheld: tools differ from what was pinned; they are not offered until spec.acceptChanges names the new digest.
	ReasonToolsWithheld = "ToolsWithheld"
	// ReasonToolsAsPinned: every tool is as it was pinned.
	ReasonToolsAsPinned = "ToolsAsPinned"
	// ReasonToolsAdded: the server has tools that it had not when its tools were pinned. They are offered, but need approval.
	ReasonToolsAdded = "ToolsAdded"
)

// Reasons of ConditionProgressing.
const (
	// ReasonRateLimited: the provider allows no more requests or tokens now; the call is tried again.
	ReasonRateLimited = "RateLimited"
	// ReasonProviderUnavailable: the provider cannot be reached, has no capacity or does not answer in time; the call is tried again.
	ReasonProviderUnavailable = "ProviderUnavailable"
	// ReasonRetrying: the call failed for another reason that may pass; it is tried again.
	ReasonRetrying = "Retrying"
	// ReasonQueuedForProvider: other calls use up the limits of the ModelProvider; the call waits for its turn.
	ReasonQueuedForProvider = "QueuedForProvider"
)

// Reasons of ConditionReady.
const (
	// ReasonReady: the object can be used.
	ReasonReady = "Ready"
	// ReasonPausedTurnLimit: limits.maxTurnsPerMessage is reached.
	ReasonPausedTurnLimit = "PausedTurnLimit"
	// ReasonPausedTaskLimit: limits.maxTasksPerMessage is reached.
	ReasonPausedTaskLimit = "PausedTaskLimit"
	// ReasonPausedTokenLimit: limits.maxTokensPerMessage is reached.
	ReasonPausedTokenLimit = "PausedTokenLimit"
	// ReasonPausedLoop: the same work was delegated again and again with the same result.
	ReasonPausedLoop = "PausedLoop"
	// ReasonProgressing: the operator is looking at it for the first time.
	ReasonProgressing = "Progressing"
	// ReasonModelError: the last model call of the chat failed for good; the next user message tries again.
	ReasonModelError = "ModelError"
	// ReasonBudgetExhausted: the tokens or the money of the chat are used up; raise spec.limits to go on.
	ReasonBudgetExhausted = "BudgetExhausted"
	// ReasonPostRefused: the API server does not take an answer of the chat, for example because of a quota; it is tried again.
	ReasonPostRefused = "PostRefused"
	// ReasonHistoryLost: the chat had begun, but the ledger has no events of it, or one of them cannot be read; the next message starts a new
	// conversation.
	ReasonHistoryLost = "HistoryLost"
	// ReasonInvalidSpec: the spec asks for something that cannot work, such as a bad JSON schema.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonUnreachable: the endpoint does not answer.
	ReasonUnreachable = "Unreachable"
	// ReasonUnauthorized: the endpoint refuses the key.
	ReasonUnauthorized = "Unauthorized"
	// ReasonEndpointNotAllowed: the endpoint is at a loopback, link-local or metadata address, or redirects; the operator does not go there.
	ReasonEndpointNotAllowed = "EndpointNotAllowed"
	// ReasonInvalidResponse: the endpoint answers, but with more than can be used, or without an end.
	ReasonInvalidResponse = "InvalidResponse"
)

// Reasons of ConditionSucceeded.
const (
	// ReasonSucceeded: the run ended with a result.
	ReasonSucceeded = "Succeeded"
	// ReasonPending: the run will begin.
	ReasonPending = "Pending"
	// ReasonParallelLimit: the chat's maxParallelTasks agents are at work; the run begins, or goes on after it waited for a person or
	// for its children, when one of them ends or waits.
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
	// ReasonDigestMismatch: the message decides about a call with other arguments than the one that waits.
	ReasonDigestMismatch = "DigestMismatch"
	// ReasonSeparation: the call's role asks for a decision of somebody who did not ask for the work, and the one who wrote the message
	// did, or it is not known who did. The call still waits.
	ReasonSeparation = "Separation"
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
	// ReasonWorkspaceUnavailable: the operator cannot run a workspace from this source, the source's claim or directory is missing, or an
	// object of somebody else has the name of one of the workspace's.
	ReasonWorkspaceUnavailable = "WorkspaceUnavailable"
	// ReasonWorkspaceNotAllowed: the Secret of the workspace does not name the git server (annotation nestor.dev/git-hosts), the claim is not
	// for workspaces (label nestor.dev/workspace), or the workspace asks for more than the operator allows.
	ReasonWorkspaceNotAllowed = "WorkspaceNotAllowed"
	// ReasonSubAgentNotFound: continueFrom names a sub-agent that does not exist.
	ReasonSubAgentNotFound = "SubAgentNotFound"
	// ReasonPriceUnknown: maxCostMicros is set, for the run or in an AgentQuota, and the model has no price in its ModelProvider.
	ReasonPriceUnknown = "PriceUnknown"
	// ReasonQuotaExhausted: an AgentQuota of the namespace does not allow the next model call, or another active sub-agent. It goes on
	// by itself when the quota resets, is raised or is deleted; the message says which quota and when.
	ReasonQuotaExhausted = "QuotaExhausted"
	// ReasonLedgerUnavailable: the ledger does not answer; nothing is lost, and work goes on when it does. LedgerFull, LedgerReadOnly,
	// LedgerMissing and the other reasons of internal/ledger say what a person must do.
	ReasonLedgerUnavailable = "LedgerUnavailable"
	// ReasonLedgerQuota: the namespace has filled its share of the ledger (--ledger-namespace-quota). It goes on when there is room again, and
	// other namespaces are not concerned.
	ReasonLedgerQuota = "LedgerQuota"
)
