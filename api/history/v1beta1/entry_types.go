// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// EntryKind is the kind of an entry of a transcript.
// +enum
type EntryKind string

// The kinds of entries of a transcript.
const (
	// EntryStarted: the agent started; content is its instruction, systemPrompt its system prompt.
	EntryStarted EntryKind = "Started"
	// EntryUser: the person of the chat wrote content, in message.
	EntryUser EntryKind = "User"
	// EntryAssistant: the model replied with content, toolCalls or both.
	EntryAssistant EntryKind = "Assistant"
	// EntrySummary: the model summarised the older part of a history that became too long; content replaces that part
	// from now on.
	EntrySummary EntryKind = "Summary"
	// EntryToolResult: a tool call ended; content is its result for the model, toolCalls has the call.
	EntryToolResult EntryKind = "ToolResult"
	// EntryChildResult: child ended; content is the summary of its result, or its error.
	EntryChildResult EntryKind = "ChildResult"
	// EntryQuestion: child, an agent below the chat, asks content.
	EntryQuestion EntryKind = "Question"
	// EntryApproval: child, an agent or tool run below the chat, needs a person's decision about toolCalls.
	EntryApproval EntryKind = "Approval"
	// EntryAnswer: the question of the agent was answered; content is the answer, toolCalls has the question.
	EntryAnswer EntryKind = "Answer"
	// EntryDecision: the person in user decided about toolCalls: decision is Approve or Deny, content is their comment.
	EntryDecision EntryKind = "Decision"
	// EntryAllowance: the person in user allowed a tool for the chat, or revoked the allowance; content describes it.
	EntryAllowance EntryKind = "Allowance"
	// EntryError: a model call failed; content is the provider's error, error its class.
	EntryError EntryKind = "Error"
	// EntryLimit: a limit was reached while nothing else happened; content describes it.
	EntryLimit EntryKind = "Limit"
	// EntryCancelled: the work was cancelled, all of it or child; content is the part of the reply in flight that had
	// arrived.
	EntryCancelled EntryKind = "Cancelled"
	// EntryRestarted: another operator took over; toolCalls has the calls whose outcome is unknown.
	EntryRestarted EntryKind = "Restarted"
	// EntryDelta: a piece of the reply to modelCall, in delta, while it streams in. Only a log that follows has it; it
	// is not part of the record. The next entry that is not a Delta replaces all deltas: it has the whole reply, or
	// there is none. A reader that joins in the middle first gets everything so far in one delta.
	EntryDelta EntryKind = "Delta"
)

// Entry is one entry of an agent's history.
type Entry struct {
	// seq is the position of the entry in the agent's history: entries are in order, with gaps, because not every
	// event has an entry. A Delta has the seq of the newest event before it.
	// +required
	Seq int64 `json:"seq"`
	// time is the time of the event.
	// +required
	Time metav1.MicroTime `json:"time"`
	// kind is the kind of the entry; it determines which of the other fields are set.
	// +required
	Kind EntryKind `json:"kind"`
	// content is the whole text of the entry.
	// +optional
	Content string `json:"content,omitempty"`
	// reasoning is the text of the model's reasoning before the reply, if the provider returns it. It is never posted
	// to the chat.
	// +optional
	Reasoning string `json:"reasoning,omitempty"`
	// images are the images of the entry: those that a person attached to the message or answer, or those that a tool
	// returned. Their bytes are served by the transcript's image subresource, as long as the ledger keeps them.
	// +optional
	// +listType=atomic
	Images []Image `json:"images,omitempty"`
	// systemPrompt is the system prompt of the agent.
	// +optional
	SystemPrompt string `json:"systemPrompt,omitempty"`
	// message is the name of the AgentMessage that caused the entry.
	// +optional
	Message string `json:"message,omitempty"`
	// user is the person who caused the entry, if known.
	// +optional
	User string `json:"user,omitempty"`
	// decision is what the person decided about toolCalls: Approve or Deny.
	// +optional
	Decision string `json:"decision,omitempty"`
	// allowance is the name of the allowance of the chat that approved toolCalls, or that the entry is about.
	// +optional
	Allowance string `json:"allowance,omitempty"`
	// modelCall is the name of the ModelCall that got a reply, failed, or is in flight.
	// +optional
	ModelCall string `json:"modelCall,omitempty"`
	// toolCalls are the tool calls that this entry is about: those that a reply requests, or those that were decided or
	// answered, in their state after the entry.
	// +optional
	// +listType=atomic
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
	// children are the runs that the reply started.
	// +optional
	// +listType=atomic
	Children []ChildRun `json:"children,omitempty"`
	// child is the name of the run that the entry is about.
	// +optional
	Child string `json:"child,omitempty"`
	// error is the class of the error: Retry, Final, ContextTooLong or Budget for a failed model call, the error kind
	// for a child.
	// +optional
	Error string `json:"error,omitempty"`
	// truncated is true if the reply reached the limit of output tokens and is cut off.
	// +optional
	Truncated bool `json:"truncated,omitempty"`
	// usage is the usage of the model call; for the end of a child, that of the child with everything below it.
	// +optional
	Usage *TokenUsage `json:"usage,omitempty"`
	// limit is the limit that was reached, if any.
	// +optional
	Limit string `json:"limit,omitempty"`
	// outcome is the outcome of the agent, on its last entry.
	// +optional
	Outcome *Outcome `json:"outcome,omitempty"`
	// delta is a piece of a reply.
	// +optional
	Delta *Delta `json:"delta,omitempty"`
}

// Image is an image of an entry.
type Image struct {
	// name is the name of an attached image.
	// +optional
	Name string `json:"name,omitempty"`
	// mediaType is the media type of the image, such as image/png.
	// +required
	MediaType string `json:"mediaType"`
	// size is the number of bytes.
	// +required
	Size int64 `json:"size"`
	// digest identifies the content.
	// +required
	Digest string `json:"digest"`
}

// ToolCallPhase is the phase of a tool call.
// +enum
type ToolCallPhase string

// The phases of a tool call.
const (
	// ToolCallWaitingForApproval: it needs a person's decision.
	ToolCallWaitingForApproval ToolCallPhase = "WaitingForApproval"
	// ToolCallWaitingForUser: it is a question without an answer.
	ToolCallWaitingForUser ToolCallPhase = "WaitingForUser"
	// ToolCallRunning: the tool is running, or about to start.
	ToolCallRunning ToolCallPhase = "Running"
	// ToolCallDelegated: it waits for the runs that it started.
	ToolCallDelegated ToolCallPhase = "Delegated"
	// ToolCallSuccess: it has a result.
	ToolCallSuccess ToolCallPhase = "Success"
	// ToolCallFailed: it failed; the result has the cause.
	ToolCallFailed ToolCallPhase = "Failed"
	// ToolCallDenied: a person denied it.
	ToolCallDenied ToolCallPhase = "Denied"
	// ToolCallUnknown: it was interrupted, and it is unknown whether it took effect.
	ToolCallUnknown ToolCallPhase = "Unknown"
)

// ToolCall is a tool call that the model requested.
type ToolCall struct {
	// id is the id of the call, which is the same in later entries.
	// +required
	ID string `json:"id"`
	// tool is the name of the tool, as used by the model.
	// +optional
	Tool string `json:"tool,omitempty"`
	// arguments are the arguments as the model wrote them, which need not be JSON, or in a Decision, those that the
	// person wrote. Entries that only contain the outcome of the call leave them out.
	// +optional
	Arguments string `json:"arguments,omitempty"`
	// phase is the phase of the call after the entry.
	// +required
	Phase ToolCallPhase `json:"phase"`
	// result is the result of the call for the model, once it is known, unless it is the content of the entry.
	// +optional
	Result string `json:"result,omitempty"`
	// diff is what the call changed in a file, as the hunks of a unified diff, if the tool reported it; at most 32 KiB.
	// The tools write and patch of workspaces do, unless they created the file or it had the new content already.
	// +optional
	Diff string `json:"diff,omitempty"`
}

// ChildRun is a run that an agent started.
type ChildRun struct {
	// name is the name of the run's AgentTask, and of its SubAgent if it has one.
	// +required
	Name string `json:"name"`
	// toolCall is the id of the call that started it.
	// +optional
	ToolCall string `json:"toolCall,omitempty"`
	// role is the role of an agent.
	// +optional
	Role string `json:"role,omitempty"`
	// tool is the tool of a tool run.
	// +optional
	Tool string `json:"tool,omitempty"`
	// instruction is the instruction of the agent.
	// +optional
	Instruction string `json:"instruction,omitempty"`
	// continueFrom is the finished sub-agent whose history it continues.
	// +optional
	ContinueFrom string `json:"continueFrom,omitempty"`
}

// Outcome is the outcome of an agent.
type Outcome struct {
	// errorKind is why it ended without success; absent if it succeeded.
	// +optional
	ErrorKind string `json:"errorKind,omitempty"`
	// error describes the error for people.
	// +optional
	Error string `json:"error,omitempty"`
	// summary is a summary of the result. An agent that reached a limit may have a partial one.
	// +optional
	Summary string `json:"summary,omitempty"`
	// result is the result in full.
	// +optional
	Result string `json:"result,omitempty"`
	// details are the technical specifics.
	// +optional
	Details string `json:"details,omitempty"`
	// filesModified are the files that were changed.
	// +optional
	// +listType=atomic
	FilesModified []string `json:"filesModified,omitempty"`
	// filesCreated are the files that were added.
	// +optional
	// +listType=atomic
	FilesCreated []string `json:"filesCreated,omitempty"`
	// testsRun is the number of tests that were run.
	// +optional
	TestsRun *int32 `json:"testsRun,omitempty"`
	// testsPassed is the number of tests that passed.
	// +optional
	TestsPassed *int32 `json:"testsPassed,omitempty"`
	// warnings are points that the parent should know.
	// +optional
	// +listType=atomic
	Warnings []string `json:"warnings,omitempty"`
	// suggestions are possible next steps.
	// +optional
	// +listType=atomic
	Suggestions []string `json:"suggestions,omitempty"`
	// data is the structured result of an agent that has an outputSchema.
	// +optional
	Data *runtime.RawExtension `json:"data,omitempty"`
	// iterations is the number of model calls.
	// +optional
	Iterations int32 `json:"iterations,omitempty"`
	// durationMillis is the duration, including the time spent waiting.
	// +optional
	DurationMillis int64 `json:"durationMillis,omitempty"`
}

// Delta is a piece of a reply while it streams in.
type Delta struct {
	// text is the next part of the reply.
	// +optional
	Text string `json:"text,omitempty"`
	// reasoning is the next part of the model's reasoning, if the provider returns it.
	// +optional
	Reasoning string `json:"reasoning,omitempty"`
	// toolCall is the next part of a tool call.
	// +optional
	ToolCall *ToolCallDelta `json:"toolCall,omitempty"`
	// lost is true if the reply is too long for the live view and deltas are left out from here on; the entry with the
	// reply has all of it.
	// +optional
	Lost bool `json:"lost,omitempty"`
}

// ToolCallDelta is a piece of a tool call.
type ToolCallDelta struct {
	// index is the position of the call in the reply, from 0.
	// +required
	Index int32 `json:"index"`
	// tool is the name of the tool; only the first piece has it.
	// +optional
	Tool string `json:"tool,omitempty"`
	// arguments is the next part of the arguments.
	// +optional
	Arguments string `json:"arguments,omitempty"`
}
