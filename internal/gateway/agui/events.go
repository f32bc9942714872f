// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agui

// protocolVersion is the version of AG-UI whose events are sent.
const protocolVersion = "1.0"

// The types of events that are sent.
const (
	typeRunStarted       = "RUN_STARTED"
	typeRunFinished      = "RUN_FINISHED"
	typeRunError         = "RUN_ERROR"
	typeTextStart        = "TEXT_MESSAGE_START"
	typeTextContent      = "TEXT_MESSAGE_CONTENT"
	typeTextEnd          = "TEXT_MESSAGE_END"
	typeToolStart        = "TOOL_CALL_START"
	typeToolArgs         = "TOOL_CALL_ARGS"
	typeToolEnd          = "TOOL_CALL_END"
	typeToolResult       = "TOOL_CALL_RESULT"
	typeReasoningStart   = "REASONING_START"
	typeReasoningOpen    = "REASONING_MESSAGE_START"
	typeReasoningContent = "REASONING_MESSAGE_CONTENT"
	typeReasoningClose   = "REASONING_MESSAGE_END"
	typeReasoningEnd     = "REASONING_END"
	typeStepStarted      = "STEP_STARTED"
	typeStepFinished     = "STEP_FINISHED"
	typeSubagentStarted  = "SUBAGENT_STARTED"
	typeSubagentFinished = "SUBAGENT_FINISHED"
	typeSubagentError    = "SUBAGENT_ERROR"
	typeState            = "STATE_SNAPSHOT"
	typeMessages         = "MESSAGES_SNAPSHOT"
	typeCustom           = "CUSTOM"
)

// event is one of the types below.
type event any

type runStarted struct {
	Type            string `json:"type"`
	ThreadID        string `json:"threadId"`
	RunID           string `json:"runId"`
	ProtocolVersion string `json:"protocolVersion,omitempty"`
	ParentRunID     string `json:"parentRunId,omitempty"`
}

type runFinished struct {
	Type     string       `json:"type"`
	ThreadID string       `json:"threadId"`
	RunID    string       `json:"runId"`
	Result   any          `json:"result,omitempty"`
	Outcome  *outcome     `json:"outcome,omitempty"`
	Usage    []tokenUsage `json:"usage,omitempty"`
}

const (
	outcomeSuccess   = "success"
	outcomeInterrupt = "interrupt"
	outcomeCancelled = "cancelled"
	outcomeSuspended = "suspended"
)

type outcome struct {
	Type         string      `json:"type"`
	Interrupts   []interrupt `json:"interrupts,omitempty"`
	InterruptIDs []string    `json:"interruptIds,omitempty"`
}

// interrupt is a question or an approval that waits for a person.
type interrupt struct {
	ID             string         `json:"id"`
	Reason         string         `json:"reason"`
	Message        string         `json:"message"`
	ToolCallID     string         `json:"toolCallId,omitempty"`
	ResponseSchema map[string]any `json:"responseSchema"`
	Metadata       map[string]any `json:"metadata,omitempty"`
}

type tokenUsage struct {
	InputTokens       int64 `json:"inputTokens"`
	OutputTokens      int64 `json:"outputTokens"`
	TotalTokens       int64 `json:"totalTokens"`
	ReasoningTokens   int64 `json:"reasoningTokens,omitempty"`
	CachedInputTokens int64 `json:"cachedInputTokens,omitempty"`
}

type runError struct {
	Type    string       `json:"type"`
	Message string       `json:"message"`
	Code    string       `json:"code,omitempty"`
	Usage   []tokenUsage `json:"usage,omitempty"`
}

// messageEvent opens or closes a message.
type messageEvent struct {
	Type      string `json:"type"`
	MessageID string `json:"messageId"`
	Role      string `json:"role,omitempty"`
}

type contentEvent struct {
	Type      string `json:"type"`
	MessageID string `json:"messageId"`
	Delta     string `json:"delta"`
}

// toolEvent opens or closes a tool call.
type toolEvent struct {
	Type            string `json:"type"`
	ToolCallID      string `json:"toolCallId"`
	ToolCallName    string `json:"toolCallName,omitempty"`
	ParentMessageID string `json:"parentMessageId,omitempty"`
}

type argsEvent struct {
	Type       string `json:"type"`
	ToolCallID string `json:"toolCallId"`
	Delta      string `json:"delta"`
}

type resultEvent struct {
	Type       string `json:"type"`
	MessageID  string `json:"messageId"`
	ToolCallID string `json:"toolCallId"`
	Content    string `json:"content"`
	Role       string `json:"role"`
}

type stepEvent struct {
	Type     string `json:"type"`
	StepName string `json:"stepName"`
}

type subagentStarted struct {
	Type             string `json:"type"`
	SubagentRunID    string `json:"subagentRunId"`
	Name             string `json:"name"`
	Description      string `json:"description,omitempty"`
	ParentToolCallID string `json:"parentToolCallId,omitempty"`
}

type subagentEnded struct {
	Type          string   `json:"type"`
	SubagentRunID string   `json:"subagentRunId"`
	Result        any      `json:"result,omitempty"`
	Outcome       *outcome `json:"outcome,omitempty"`
	Message       string   `json:"message,omitempty"`
	Code          string   `json:"code,omitempty"`
}

type stateEvent struct {
	Type     string `json:"type"`
	Snapshot any    `json:"snapshot"`
}

type messagesEvent struct {
	Type     string `json:"type"`
	Messages []any  `json:"messages"`
}

type customEvent struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// message is a message of the conversation, in a snapshot.
type message struct {
	ID         string     `json:"id"`
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []toolCall `json:"toolCalls,omitempty"`
	ToolCallID string     `json:"toolCallId,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}
