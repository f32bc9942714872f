// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EntryKind is what an entry of a transcript tells.
// +enum
type EntryKind string

// What an entry of a transcript tells.
const (
	// EntryStarted: the agent began; content is what it was asked to do, systemPrompt what its model is told first.
	EntryStarted EntryKind = "Started"
	// EntryUser: the person of the chat said content, in message.
	EntryUser EntryKind = "User"
	// EntryAssistant: the model replied with content, toolCalls or both.
	EntryAssistant EntryKind = "Assistant"
	// EntrySummary: the model summarised the older part of a history that became too long; content stands for it from now on.
	EntrySummary EntryKind = "Summary"
	// EntryToolResult: a tool ended; content is what the model is told, toolCalls has the call.
	EntryToolResult EntryKind = "ToolResult"
	// EntryChildResult: child came to an end; content is its result in short, or what went wrong.
	EntryChildResult EntryKind = "ChildResult"
	// EntryQuestion: child, an agent somewhere below the chat, asks content.
	EntryQuestion EntryKind = "Question"
	// EntryApproval: child, an agent or tool run somewhere below the chat, needs a person's decision about toolCalls.
	EntryApproval EntryKind = "Approval"
	// EntryAnswer: somebody answered the question that the agent asked; content is the answer, toolCalls has the question.
	EntryAnswer EntryKind = "Answer"
	// EntryDecision: a person decided about toolCalls: decision is what, by is who, content is their comment.
	EntryDecision EntryKind = "Decision"
	// EntryError: a model call was not answered; content are the provider's words, error its class.
	EntryError EntryKind = "Error"
	// EntryLimit: a limit was reached while nothing else happened; content says which.
	EntryLimit EntryKind = "Limit"
	// EntryCancelled: somebody wants the work to stop, all of it or child.
	EntryCancelled EntryKind = "Cancelled"
	// EntryRestarted: another operator took over; toolCalls has those whose outcome nobody can tell.
	EntryRestarted EntryKind = "Restarted"
	// EntryDelta: a piece of the reply to modelCall, in delta, while it streams in. Only a log that follows has it; it is no part
	// of the record. The next entry that is not a Delta makes all pieces void: it has the whole reply, or there will be none.
	// A reader that joins in the middle first gets all that came so far, in one piece.
	EntryDelta EntryKind = "Delta"
)

// Entry is one thing that happened to an agent.
type Entry struct {
	// seq is the place of the entry in the agent's history. Entries are in order and no two have the same, but numbers are left
	// out: not every event is worth an entry. A Delta has the seq of the newest event before it.
	// +required
	Seq int64 `json:"seq"`
	// time is when it happened.
	// +required
	Time metav1.MicroTime `json:"time"`
	// kind is what the entry tells, and which of the other fields it has.
	// +required
	Kind EntryKind `json:"kind"`
	// content is the text of the entry, whole.
	// +optional
	Content string `json:"content,omitempty"`
	// systemPrompt is what the agent's model is told before everything else.
	// +optional
	SystemPrompt string `json:"systemPrompt,omitempty"`
	// message is the name of the AgentMessage that brought it.
	// +optional
	Message string `json:"message,omitempty"`
	// by is the person who did it, where known.
	// +optional
	By string `json:"by,omitempty"`
	// decision is what the person decided about toolCalls: Approve or Deny.
	// +optional
	Decision string `json:"decision,omitempty"`
	// modelCall is the name of the ModelCall that was answered, failed, or is being answered.
	// +optional
	ModelCall string `json:"modelCall,omitempty"`
	// toolCalls are the tool calls that this entry is about: those that a reply asks for, or those that were decided or
	// answered by what happened, as they stand after it.
	// +optional
	// +listType=atomic
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
	// children are the runs that were started by it.
	// +optional
	// +listType=atomic
	Children []ChildRun `json:"children,omitempty"`
	// child is the name of the run that the entry is about.
	// +optional
	Child string `json:"child,omitempty"`
	// error is the class of what went wrong: of a failed model call Retry, Final, ContextTooLong or Budget, of a child its error kind.
	// +optional
	Error string `json:"error,omitempty"`
	// truncated says that the reply reached the limit of output tokens and is cut off.
	// +optional
	Truncated bool `json:"truncated,omitempty"`
	// usage is what the model call used; of a child's end, what the child used with everything below it.
	// +optional
	Usage *TokenUsage `json:"usage,omitempty"`
	// limit says which limit was reached by it, if one was.
	// +optional
	Limit string `json:"limit,omitempty"`
	// outcome is how the agent ended, on the entry that ended it.
	// +optional
	Outcome *Outcome `json:"outcome,omitempty"`
	// delta is a piece of a reply.
	// +optional
	Delta *Delta `json:"delta,omitempty"`
}

// ToolCallPhase is where a tool call stands.
// +enum
type ToolCallPhase string

// Where a tool call stands.
const (
	// ToolCallAwaitingApproval: a person must decide whether it may run.
	ToolCallAwaitingApproval ToolCallPhase = "AwaitingApproval"
	// ToolCallWaitingForUser: it is a question that has not been answered.
	ToolCallWaitingForUser ToolCallPhase = "WaitingForUser"
	// ToolCallRunning: the tool runs, or is about to.
	ToolCallRunning ToolCallPhase = "Running"
	// ToolCallDelegated: it waits for the runs that it started.
	ToolCallDelegated ToolCallPhase = "Delegated"
	// ToolCallSuccess: it was answered.
	ToolCallSuccess ToolCallPhase = "Success"
	// ToolCallFailed: it could not be done; the result says why.
	ToolCallFailed ToolCallPhase = "Failed"
	// ToolCallDenied: a person decided that it may not run.
	ToolCallDenied ToolCallPhase = "Denied"
	// ToolCallUnknown: it was interrupted, and whether it took effect is not known.
	ToolCallUnknown ToolCallPhase = "Unknown"
)

// ToolCall is a tool call that the model asked for.
type ToolCall struct {
	// id is the id of the call, which later entries repeat.
	// +required
	ID string `json:"id"`
	// tool is the tool's name, as the model used it.
	// +optional
	Tool string `json:"tool,omitempty"`
	// arguments are the arguments as the model wrote them, which need not be JSON. Entries that only tell what came of the call
	// leave them out.
	// +optional
	Arguments string `json:"arguments,omitempty"`
	// phase is where the call stands after the entry.
	// +required
	Phase ToolCallPhase `json:"phase"`
	// result is what the model is told about the call, once that is known, where it is not the entry's content.
	// +optional
	Result string `json:"result,omitempty"`
}

// ChildRun is a run that an agent started.
type ChildRun struct {
	// name is the name of the run's AgentTask, and of its SubAgent if it has one.
	// +required
	Name string `json:"name"`
	// toolCall is the id of the call that asked for it.
	// +optional
	ToolCall string `json:"toolCall,omitempty"`
	// role is the role of an agent.
	// +optional
	Role string `json:"role,omitempty"`
	// tool is the tool of a tool run.
	// +optional
	Tool string `json:"tool,omitempty"`
	// instruction is what the agent was asked to do.
	// +optional
	Instruction string `json:"instruction,omitempty"`
	// continueFrom is the finished sub-agent whose history it goes on from.
	// +optional
	ContinueFrom string `json:"continueFrom,omitempty"`
}

// Outcome is how an agent ended.
type Outcome struct {
	// errorKind says why it ended without success; absent when it succeeded.
	// +optional
	ErrorKind string `json:"errorKind,omitempty"`
	// error says in words what happened.
	// +optional
	Error string `json:"error,omitempty"`
	// summary is the result in short. An agent that reached a limit may have a partial one.
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
	// warnings are things that the parent should know.
	// +optional
	// +listType=atomic
	Warnings []string `json:"warnings,omitempty"`
	// suggestions are things that could be done next.
	// +optional
	// +listType=atomic
	Suggestions []string `json:"suggestions,omitempty"`
	// iterations is how many model calls it took.
	// +optional
	Iterations int32 `json:"iterations,omitempty"`
	// durationMillis is how long it took, time spent waiting included.
	// +optional
	DurationMillis int64 `json:"durationMillis,omitempty"`
}

// Delta is a piece of a reply while it streams in.
type Delta struct {
	// text continues the reply.
	// +optional
	Text string `json:"text,omitempty"`
	// reasoning continues the model's thoughts, where the provider shows them.
	// +optional
	Reasoning string `json:"reasoning,omitempty"`
	// toolCall continues a tool call.
	// +optional
	ToolCall *ToolCallDelta `json:"toolCall,omitempty"`
	// lost says that the reply is too long for the live view and that pieces are left out from here on; the whole comes with the
	// reply.
	// +optional
	Lost bool `json:"lost,omitempty"`
}

// ToolCallDelta is a piece of a tool call.
type ToolCallDelta struct {
	// index counts the calls of the reply from 0.
	// +required
	Index int32 `json:"index"`
	// tool is the tool's name; it comes with the first piece.
	// +optional
	Tool string `json:"tool,omitempty"`
	// arguments continue the arguments.
	// +optional
	Arguments string `json:"arguments,omitempty"`
}
