// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import "encoding/json"

// Call is one request of a model for a tool.
type Call struct {
	// ID is the model's id of the call.
	ID string
	// Reference is what read_result takes to find the call's output from anywhere in the tree of agents; empty is ID.
	Reference string
	// Name is the tool's name as the model wrote it.
	Name string
	// Arguments is the JSON text the model wrote. Func sees it only when it fits.
	Arguments json.RawMessage
	// IdempotencyKey is the same each time this call is tried, and no other
	// call's. It is handed on to tools that can use it.
	IdempotencyKey string
	// Namespace and Agent (its unique id) say on whose behalf the tool runs.
	Namespace, Agent string
	// Progress, if set, observes a long call. It must not block, and may be
	// called from any goroutine until the call returns.
	Progress func(Progress)
}

// Progress is how far a long call says it has come. Total is 0 when unknown.
type Progress struct {
	Done, Total float64
	Message     string
}

// Image is a picture for a model that can see.
type Image struct {
	MIMEType string
	Data     []byte
}

// Output is what a tool produced, whole.
type Output struct {
	// Text is for the model. When it is empty and Structured is not, the model
	// reads Structured.
	Text string
	// Structured is a JSON value for programs, or nil.
	Structured json.RawMessage
	Images     []Image
	// IsError says that the tool itself reports a failure, which Text describes.
	IsError bool
}

// Failure says why a call did not succeed, for programs. It is stable.
type Failure string

// The reasons for which a call does not succeed.
const (
	// NoFailure: the tool ran and reported success.
	NoFailure Failure = ""
	// UnknownTool: no tool has this name.
	UnknownTool Failure = "UnknownTool"
	// InvalidArguments: they are not JSON or do not fit; nothing ran.
	InvalidArguments Failure = "InvalidArguments"
	// TimedOut: the call's time limit passed.
	TimedOut Failure = "TimedOut"
	// Cancelled: the caller's context ended.
	Cancelled Failure = "Cancelled"
	// Failed: the tool ran and failed, or could not be reached.
	Failed Failure = "Failed"
)

// Result is what a call came to.
type Result struct {
	// CallID and Name repeat the call's.
	CallID, Name string
	// Text answers the model, within the executor's limit.
	Text string
	// Truncated says that Text is a part of Output.Text.
	Truncated bool
	// Output is the whole output, for the ledger. Its Text is Text unless
	// Truncated.
	Output Output
	// Failure is empty if the tool ran and reported success.
	Failure Failure
	// OutcomeUnknown says that a tool that is not repeatable may have taken
	// effect although no answer came back.
	OutcomeUnknown bool
	// Err is the cause of the failure for the log, with the stack of a panic. It
	// is nil when Text says everything.
	Err error
}
