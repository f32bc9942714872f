// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import "time"

// ToolCall is one tool call. Its fields are the intent, written before the tool runs; Result is nil until the call has ended.
type ToolCall struct {
	// Key is the idempotency key of the call, unique in the ledger.
	Key string
	// CallID is the model's id of the call. Models reuse ids, so it is not unique even for one agent.
	CallID string
	// ModelCall is the key of the model call whose reply contains it; empty for a standalone task.
	ModelCall string
	Seq       int64
	Tool      string
	// Arguments is the text that the model wrote, which may not be JSON.
	Arguments string
	// Repeatable reports that the call may be repeated, because the tool is read-only or idempotent.
	Repeatable bool
	// Decision is the decision about a call that needed approval, and DecidedBy the person who made it. A denied call never ran:
	// it starts and ends with the decision.
	Decision  Decision
	DecidedBy string
	StartedAt time.Time

	// Agent is copied from the batch.
	Agent string

	Result *ToolResult
}

// Decision is a person's decision about a call.
type Decision string

// The decisions. The zero value means that none was needed.
const (
	DecisionApprove Decision = "Approve"
	DecisionDeny    Decision = "Deny"
	// DecisionApproveEdited: a person approved the call with other arguments, which the row has. The event of the decision has the digest
	// of those that the person was shown.
	DecisionApproveEdited Decision = "ApproveEdited"
)

type ToolResult struct {
	Key    string
	Status Status
	// Output is the complete output. OutputSize is its size in bytes, also in lists, which omit the output; Append ignores it.
	Output     []byte
	OutputSize int64
	Error      string
	FinishedAt time.Time
}

// OpenCalls are the calls of an agent that were started and have no result: their outcome is unknown.
type OpenCalls struct {
	Models []ModelCall
	Tools  []ToolCall
}

type ToolOutput struct {
	Data []byte
	// Size is the size of the complete output in bytes.
	Size int64
	// Agent is the UID of the agent that made the call.
	Agent string
}
