// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import "time"

// ToolCall is one use of a tool. Its fields are the intent, written before the tool runs; Result is nil until the
// call has ended.
type ToolCall struct {
	// Key is the idempotency key of the call, unique in the ledger.
	Key string
	// CallID is the id that the model gave the call. Models repeat them, so it is not unique even for one agent.
	CallID string
	// ModelCall is the key of the model call that asked for it; empty for a standalone task.
	ModelCall string
	// Seq is the event that caused the call.
	Seq  int64
	Tool string
	// Arguments are as the model wrote them, which need not be JSON.
	Arguments string
	// Repeatable says that performing the call again does no harm, because the tool is read-only or idempotent.
	Repeatable bool
	// Decision is what a person decided about a call that needed approval, and DecidedBy who that was. A call that was denied never ran:
	// it begins and ends with the decision.
	Decision  Decision
	DecidedBy string
	StartedAt time.Time

	// Agent comes from the batch.
	Agent string

	Result *ToolResult
}

// Decision is what a person decided about a call.
type Decision string

// What a person decided about a call. The zero value is that of a call that needed no decision.
const (
	DecisionApprove Decision = "Approve"
	DecisionDeny    Decision = "Deny"
)

// ToolResult is how a tool call ended.
type ToolResult struct {
	Key    string
	Status Status
	// Output is all that the tool gave back, byte for byte. OutputSize counts its bytes, also where a list leaves
	// the output itself out; Append ignores it.
	Output     []byte
	OutputSize int64
	Error      string
	FinishedAt time.Time
}

// OpenCalls are the effects of an agent that were started and have no result: their outcome is unknown.
type OpenCalls struct {
	Models []ModelCall
	Tools  []ToolCall
}

// ToolOutput is a part of what a tool gave back.
type ToolOutput struct {
	Data []byte
	// Size is the number of bytes of the whole output.
	Size int64
}
