// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// ConditionReady is the condition of long-lived objects: AgentChat, AgentRole, ModelProvider, ToolServer, AgentQuota and
// AgentTrigger.
//
// Meaning: the object can be used now. Polarity: True is good. Present: as soon as the operator has seen the object.
//
//   - True: ReasonReady; for a chat that pauses until a person sends the next message, ReasonPausedTurnLimit,
//     ReasonPausedTaskLimit, ReasonPausedTokenLimit or ReasonPausedLoop; for an AgentQuota also ReasonQuotaExhausted, while runs
//     wait for it; for an AgentTrigger also ReasonSuspended.
//   - False: for a chat, a reason of a missing reference, ReasonModelError, ReasonPriceUnknown, ReasonBudgetExhausted,
//     ReasonQuotaExhausted, ReasonPostRefused, ReasonHistoryLost, ReasonLedgerUnavailable or another reason of a failing
//     ledger; for the other kinds, a reason of a missing reference, ReasonInvalidSpec, ReasonUnreachable, ReasonUnauthorized,
//     ReasonEndpointNotAllowed, ReasonInvalidResponse, and for an AgentTrigger ReasonInvalidExpression, ReasonKindNotFound,
//     ReasonWatchNotAllowed or ReasonCreationRefused. The message describes what to create or fix.
//   - Unknown: ReasonNotChecked, until the operator has checked it.
const ConditionReady = "Ready"

// ConditionSucceeded is the condition of runs and messages: AgentTask, SubAgent, and AgentMessage.
//
// Meaning: the run has ended with a result, or the message was handled. Polarity: True is good. Present: as soon as
// the operator has seen the object. `kubectl wait --for=condition=Succeeded` waits for success, and
// `--for=condition=Succeeded=False` for the opposite.
//
//   - True: ReasonSuccess, or ReasonHandled for a message.
//   - False: one of the error kinds (Cancelled, TimedOut, IterationLimit, ...; see ErrorKind), or for a message
//     ReasonTaskNotFound, ReasonTaskFinished, ReasonNotWaiting, ReasonWrongToolCall, ReasonDigestMismatch, ReasonRequesterDenied,
//     ReasonAllowanceMismatch, ReasonAllowanceLimit or ReasonAllowanceNotFound. The message has the cause.
//   - Unknown: the run is active (ReasonRunning), waits for a person (ReasonWaitingForUser, ReasonWaitingForApproval), waits for a
//     quota (ReasonQuotaExhausted, ReasonPriceUnknown for a quota with a cost limit, or ReasonLedgerQuota), or
//     has not started (ReasonPending, ReasonParallelLimit, or the reason of a missing reference; for a message,
//     ReasonChatNotFound).
const ConditionSucceeded = "Succeeded"

// ConditionReconciling is a condition of AgentChat, AgentTask and SubAgent.
//
// Meaning: work makes progress, or waits for a model provider. Polarity: True is good. Present: only while a model call waits for longer than
// a second, and then it is False; it is removed when the call continues. Waiting for a person or for other agents does not set it.
//
//   - False: ReasonRateLimited, ReasonProviderUnavailable, ReasonRetrying or ReasonQueuedForProvider. The message contains
//     the provider's error, the attempt, and the time of the next one.
const ConditionReconciling = "Reconciling"

// ConditionWorkspaceChangesLost is a condition of AgentChat and of standalone AgentTask.
//
// Meaning: the changes of the workspace's files are kept when its pod stops. Polarity: True is good. Present: only if the last changes were not
// kept, and then it is False; it is removed when changes are kept again.
//
//   - False: ReasonWorkspaceTooLarge or ReasonWorkspaceNotKept. The message has the cause and the largest files.
const ConditionWorkspaceChangesLost = "WorkspaceChangesLost"

// Reasons of ConditionWorkspaceChangesLost.
const (
	// ReasonWorkspaceTooLarge: the changes exceed the limit of what is kept.
	ReasonWorkspaceTooLarge = "WorkspaceTooLarge"
	// ReasonWorkspaceNotKept: the changes cannot be determined, or the pod did not return them.
	ReasonWorkspaceNotKept = "WorkspaceNotKept"
)

// ConditionToolsChanged is a condition of ToolServer.
//
// Meaning: the server's tools differ from the pinned ones. Polarity: False is good. Present: as soon as the tools were listed.
//
//   - True: ReasonToolsWithheld. The message contains the tools and how to accept them.
//   - False: ReasonToolsAsPinned, or ReasonToolsAdded while there are tools that were added later, whose hints are ignored.
const ConditionToolsChanged = "ToolsChanged"

// Reasons of ConditionToolsChanged.
const (
	// ReasonToolsWithheld: tools differ from the pinned ones; they are not offered until spec.acceptedToolsDigest is the new digest.
	ReasonToolsWithheld = "ToolsWithheld"
	// ReasonToolsAsPinned: every tool is the pinned one.
	ReasonToolsAsPinned = "ToolsAsPinned"
	// ReasonToolsAdded: the server has added tools since its tools were pinned. They are offered, but need approval.
	ReasonToolsAdded = "ToolsAdded"
)

// Reasons of ConditionReconciling.
const (
	// ReasonRateLimited: the provider allows no more requests or tokens now; the call is retried.
	ReasonRateLimited = "RateLimited"
	// ReasonProviderUnavailable: the provider cannot be reached, has no capacity or does not answer in time; the call is retried.
	ReasonProviderUnavailable = "ProviderUnavailable"
	// ReasonRetrying: the call failed for another reason that may be temporary; it is retried.
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
	// ReasonPausedLoop: the same work was delegated several times with the same result.
	ReasonPausedLoop = "PausedLoop"
	// ReasonNotChecked: the operator has not checked the object yet.
	ReasonNotChecked = "NotChecked"
	// ReasonModelError: the last model call of the chat failed permanently; the next user message tries again.
	ReasonModelError = "ModelError"
	// ReasonBudgetExhausted: the token or cost limit of the chat is used up; raise spec.limits to continue.
	ReasonBudgetExhausted = "BudgetExhausted"
	// ReasonPostRefused: the API server refuses an answer of the chat, for example because of a quota; it is retried.
	ReasonPostRefused = "PostRefused"
	// ReasonHistoryLost: the chat had started, but the ledger has no events of it, or one of them cannot be read; the next message starts a new
	// conversation.
	ReasonHistoryLost = "HistoryLost"
	// ReasonInvalidSpec: the spec cannot work, for example because of an invalid JSON schema.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonUnreachable: the endpoint does not answer.
	ReasonUnreachable = "Unreachable"
	// ReasonUnauthorized: the endpoint refuses the key or the access token, or the authorization server refuses the client.
	ReasonUnauthorized = "Unauthorized"
	// ReasonEndpointNotAllowed: the endpoint is at a loopback, link-local or metadata address, or redirects; the operator does not connect to it.
	ReasonEndpointNotAllowed = "EndpointNotAllowed"
	// ReasonSuspended: the trigger has spec.suspend and does not fire.
	ReasonSuspended = "Suspended"
	// ReasonInvalidExpression: an expression or template of the trigger does not compile; the message has the place.
	ReasonInvalidExpression = "InvalidExpression"
	// ReasonKindNotFound: the API server has no resource for the kind that the trigger watches.
	ReasonKindNotFound = "KindNotFound"
	// ReasonWatchNotAllowed: the operator may not watch the kind that the trigger watches.
	ReasonWatchNotAllowed = "WatchNotAllowed"
	// ReasonCreationRefused: the API server does not allow the operator to create the task or message now; it is retried.
	ReasonCreationRefused = "CreationRefused"
	// ReasonInvalidResponse: the response of the endpoint is too large or does not end, or the one of the token endpoint has no token.
	ReasonInvalidResponse = "InvalidResponse"
)

// Reasons of ConditionSucceeded.
const (
	// ReasonSuccess: the run ended with a result.
	ReasonSuccess = "Success"
	// ReasonPending: the run has not started.
	ReasonPending = "Pending"
	// ReasonParallelLimit: the chat's maxParallelTasks agents are running; the run starts, or continues after it waited for a person or
	// for its children, when one of them ends or waits.
	ReasonParallelLimit = "ParallelLimit"
	// ReasonRunning: the run is in progress.
	ReasonRunning = "Running"
	// ReasonWaitingForUser: an agent asked a question.
	ReasonWaitingForUser = "WaitingForUser"
	// ReasonWaitingForApproval: a tool call needs a person's decision.
	ReasonWaitingForApproval = "WaitingForApproval"
	// ReasonHandled: the message became part of a turn, or its answer, decision or cancel took effect.
	ReasonHandled = "Handled"
	// ReasonChatNotFound: the message waits until its chat exists.
	ReasonChatNotFound = "ChatNotFound"
	// ReasonTaskNotFound: the message names a task that its chat does not have.
	ReasonTaskNotFound = "TaskNotFound"
	// ReasonTaskFinished: the message names a task that has ended.
	ReasonTaskFinished = "TaskFinished"
	// ReasonNotWaiting: the message decides or answers something that does not wait.
	ReasonNotWaiting = "NotWaiting"
	// ReasonWrongToolCall: the task waits, but not for a decision on the call in the message.
	ReasonWrongToolCall = "WrongToolCall"
	// ReasonDigestMismatch: the message decides a call with different arguments than the waiting one.
	ReasonDigestMismatch = "DigestMismatch"
	// ReasonAttachmentInvalid: an attachment of the message cannot be read, is too large, or is not what its media type says.
	ReasonAttachmentInvalid = "AttachmentInvalid"
	// ReasonRequesterDenied: the role of the call does not allow requesters to decide, and the author of the message is a requester, or the
	// requesters are unknown. The call still waits.
	ReasonRequesterDenied = "RequesterDenied"
	// ReasonAllowanceMismatch: the patterns of spec.approval.allow do not match the call that the message approves. The call still waits.
	ReasonAllowanceMismatch = "AllowanceMismatch"
	// ReasonAllowanceLimit: the chat has the largest number of allowances. The call still waits.
	ReasonAllowanceLimit = "AllowanceLimit"
	// ReasonAllowanceNotFound: the chat has no allowance with the name in spec.revoke.
	ReasonAllowanceNotFound = "AllowanceNotFound"
)

// Reasons of a missing reference, on both conditions. None of them is a failure: the object continues automatically when the
// missing object exists.
const (
	// ReasonRoleNotFound: no AgentRole of that name may be used here.
	ReasonRoleNotFound = "RoleNotFound"
	// ReasonProviderNotFound: no ModelProvider of that name may be used here.
	ReasonProviderNotFound = "ProviderNotFound"
	// ReasonModelNotSet: neither the chat, the role nor the provider sets a model.
	ReasonModelNotSet = "ModelNotSet"
	// ReasonSecretNotFound: a Secret, or its key, is missing.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonAPIKeyFileNotFound: the operator has no file with the API key.
	ReasonAPIKeyFileNotFound = "APIKeyFileNotFound"
	// ReasonConfigMapNotFound: a ConfigMap, or its key, is missing.
	ReasonConfigMapNotFound = "ConfigMapNotFound"
	// ReasonToolServerNotFound: an allowed tool names a ToolServer that may not be used here.
	ReasonToolServerNotFound = "ToolServerNotFound"
	// ReasonToolServerNotReady: an allowed tool names a ToolServer that is not Ready.
	ReasonToolServerNotReady = "ToolServerNotReady"
	// ReasonToolNotFound: a task of type Tool names a tool that does not exist.
	ReasonToolNotFound = "ToolNotFound"
	// ReasonWorkspaceUnavailable: the operator cannot run a workspace from this source, the source's claim or directory is missing, or another
	// object has the name of one of the workspace's objects.
	ReasonWorkspaceUnavailable = "WorkspaceUnavailable"
	// ReasonWorkspaceNotAllowed: the Secret of the workspace does not list the git server (annotation nestor.dev/git-hosts), the claim is not
	// marked for workspaces (label nestor.dev/workspace), or the workspace is larger than the operator allows.
	ReasonWorkspaceNotAllowed = "WorkspaceNotAllowed"
	// ReasonSubAgentNotFound: continueFrom names a sub-agent that does not exist.
	ReasonSubAgentNotFound = "SubAgentNotFound"
	// ReasonPriceUnknown: maxCostMicros is set, for the run or in an AgentQuota, and the model has no price in its ModelProvider.
	ReasonPriceUnknown = "PriceUnknown"
	// ReasonQuotaExhausted: an AgentQuota of the namespace does not allow the next model call, or another active sub-agent. Work continues
	// automatically when the quota resets, is raised or is deleted; the message contains the quota and the time.
	ReasonQuotaExhausted = "QuotaExhausted"
	// ReasonLedgerUnavailable: the ledger does not answer; nothing is lost, and work continues when it does. LedgerFull, LedgerReadOnly,
	// LedgerMissing and the other reasons of internal/ledger describe what a person must do.
	ReasonLedgerUnavailable = "LedgerUnavailable"
	// ReasonLedgerQuota: the namespace has filled its share of the ledger (--ledger-namespace-quota). Work continues when there is space again;
	// other namespaces are not affected.
	ReasonLedgerQuota = "LedgerQuota"
)
