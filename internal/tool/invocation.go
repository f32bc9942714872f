// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

type Invocation struct {
	// ID is the model's ID of the call.
	ID string
	// Reference identifies the output for read_result anywhere in the tree of agents; empty means ID.
	Reference string
	// Name is the tool's name as the model wrote it.
	Name string
	// Arguments is the JSON text of the model. Func receives it only if it matches the schema.
	Arguments json.RawMessage
	// IdempotencyKey is the same for each attempt of this call and different from that of every other call. It is
	// passed to tools that accept one.
	IdempotencyKey string
	// Namespace and Agent (its unique ID) identify the agent that the tool runs for.
	Namespace, Agent string
	// Input is set when the tool runs again after it ended with a question.
	Input *RoundInput
	// Ask passes a question to a person during the call and returns the answer, which may take forever. Meanwhile the
	// call's time limit is suspended. It is nil without a person to answer.
	Ask func(ctx context.Context, question string) (string, error)
	// Progress, if set, is called when the tool reports progress. It must not block.
	Progress func(Progress)
}

type Progress struct {
	// Done is the part that is done, of Total; Total is 0 if it is unknown.
	Done, Total float64
	// Message describes what the tool is doing. It is one bounded line.
	Message string
}

// String returns the progress as text: "3/10 reading files", "30% reading files".
func (p Progress) String() string {
	part := ""
	switch {
	case p.Total > 0 && p.Total != 100 && p.Total == math.Trunc(p.Total) && p.Done == math.Trunc(p.Done) && p.Total < 1e9:
		part = fmt.Sprintf("%.0f/%.0f", p.Done, p.Total)
	case p.Total > 0:
		part = fmt.Sprintf("%.0f%%", 100*p.Done/p.Total)
	case p.Done > 0:
		part = strconv.FormatFloat(p.Done, 'f', -1, 64)
	}
	return strings.TrimSpace(part + " " + p.Message)
}

type InputRequest struct {
	// Question is shown to the person. It must be bounded and must name the source of the question.
	Question string
	// State is returned with the answer; it has no meaning outside the tool.
	State json.RawMessage
}

// RoundInput is the answer to an InputRequest, with its state.
type RoundInput struct {
	State  json.RawMessage
	Answer string
	// User is the person whose message is the answer, or empty if that is not known.
	User string
}

type Image struct {
	MIMEType string
	Data     []byte
}

type Output struct {
	// Text is for the model. If it is empty and Structured is not, the model gets Structured.
	Text string
	// Structured is a JSON value for programs, or nil.
	Structured json.RawMessage
	Images     []Image
	// Diff has the changes of the call to a file, as the hunks of a unified diff for people. It is empty if the tool
	// does not report them.
	Diff string
	// Labels are the content labels of this output besides those of its tool.
	Labels []string
	// IsError means that the tool itself reports a failure, which Text describes.
	IsError bool
	// Input means that the tool has not finished: it runs again with the answer of a person.
	Input *InputRequest
}

// DiffMeta is the key of Output.Diff in the _meta of an MCP result. MaxDiff is its maximum size in bytes: a longer diff
// is not recorded.
const (
	DiffMeta = "nestor.dev/diff"
	MaxDiff  = 32 << 10
)

// Failure is a stable, machine-readable reason why a call did not succeed.
type Failure string

// Reasons why a call does not succeed.
const (
	NoFailure Failure = ""
	// UnknownTool: no tool has this name.
	UnknownTool Failure = "UnknownTool"
	// InvalidArguments: the arguments are not JSON or do not match the schema; nothing ran.
	InvalidArguments Failure = "InvalidArguments"
	TimedOut         Failure = "TimedOut"
	// Cancelled: the caller's context ended.
	Cancelled Failure = "Cancelled"
	// Failed: the tool ran and failed, or could not be reached.
	Failed Failure = "Failed"
)

type Result struct {
	// CallID and Name repeat the call's.
	CallID, Name string
	// Text is the answer for the model, within the executor's limit.
	Text string
	// Truncated means that Text is only a part of Output.Text.
	Truncated bool
	// Output is the complete output, for the ledger. Its Text equals Text unless Truncated.
	Output Output
	// Content describes the source of the text.
	Content Content
	// Failure is empty if the tool ran and reported success.
	Failure Failure
	// OutcomeUnknown means that the call may have taken effect although there is no answer; the tool is not repeatable.
	OutcomeUnknown bool
	// Err is the cause of the failure for the log, with the stack of a panic. It is nil if Text is enough.
	Err error
}
