// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"strings"
)

// ErrorKind is the reason why an agent failed.
type ErrorKind string

// The reasons why an agent failed.
const (
	ErrorCancelled       ErrorKind = "Cancelled"
	ErrorTimedOut        ErrorKind = "TimedOut"
	ErrorIterationLimit  ErrorKind = "IterationLimit"
	ErrorDepthLimit      ErrorKind = "DepthLimit"
	ErrorBudgetExhausted ErrorKind = "BudgetExhausted"
	ErrorLoopDetected    ErrorKind = "LoopDetected"
	ErrorModel           ErrorKind = "ModelError"
	ErrorTool            ErrorKind = "ToolError"
	ErrorSubAgent        ErrorKind = "SubAgentError"
	ErrorInvalidSpec     ErrorKind = "InvalidSpec"
	ErrorHistoryLost     ErrorKind = "HistoryLost"
	ErrorReviewRejected  ErrorKind = "ReviewRejected"
	ErrorApprovalExpired ErrorKind = "ApprovalExpired"
	// ErrorDiverged: a fork did what its record does not contain.
	ErrorDiverged ErrorKind = "Diverged"

	ErrorEmptyReply         ErrorKind = "EmptyReply"
	ErrorReplyCutOff        ErrorKind = "ReplyCutOff"
	ErrorInvalidArguments   ErrorKind = "InvalidArguments"
	ErrorOutputSchemaNotMet ErrorKind = "OutputSchemaNotMet"
)

// Stage returns the stage of an agent that ended with the error.
func (k ErrorKind) Stage() Stage {
	if k == ErrorCancelled {
		return StageCancelled
	}
	return StageFailed
}

// Outcome is how an agent ended: with a result if Kind is empty, otherwise with an error and perhaps a partial result.
type Outcome struct {
	Kind   ErrorKind `json:"kind,omitempty"`
	Error  string    `json:"error,omitempty"`
	Result *Result   `json:"result,omitempty"`
	// Iterations and Duration are the totals of the run.
	Iterations int    `json:"iterations,omitempty"`
	Duration   Millis `json:"duration,omitempty"`
	// Labels are the content labels of the agent, and so of the result and the error.
	Labels []string `json:"labels,omitempty"`
}

// Succeeded reports whether the agent ended with a result.
func (o Outcome) Succeeded() bool { return o.Kind == "" }

// Result is what an agent hands to its parent.
type Result struct {
	// Text is the full result: the argument of submit_result, or the final answer.
	Text          string   `json:"text,omitempty"`
	Summary       string   `json:"summary,omitempty"`
	Details       string   `json:"details,omitempty"`
	FilesModified []string `json:"filesModified,omitempty"`
	FilesCreated  []string `json:"filesCreated,omitempty"`
	TestsRun      *int     `json:"testsRun,omitempty"`
	TestsPassed   *int     `json:"testsPassed,omitempty"`
	Warnings      []string `json:"warnings,omitempty"`
	Suggestions   []string `json:"suggestions,omitempty"`
	// Data is the structured result of an agent that has an OutputSchema: a JSON object.
	Data json.RawMessage `json:"data,omitempty"`
	// Images are the images that a tool run returned.
	Images []Image `json:"images,omitempty"`
}

// Brief returns the summary, or the full result if there is no summary.
func (r *Result) Brief() string {
	if r == nil {
		return ""
	}
	if r.Summary != "" {
		return r.Summary
	}
	return r.Text
}

// briefWithData returns Brief, followed by the data if there is any.
func (r *Result) briefWithData() string {
	if r == nil || len(r.Data) == 0 {
		return r.Brief()
	}
	return strings.TrimSpace(r.Brief() + "\n\nData: " + string(r.Data))
}
