// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

// Event is something that happened, and when. A log of events is an agent's whole history: its state is their fold.
type Event struct {
	At   Time
	Fact Fact
}

// Fact is what happened: one of the types of this file.
type Fact interface{ fact() }

// Started begins an agent's life. It is the first event of every log and has no effect later.
type Started struct {
	Config Config `json:"config"`
	// History is what the agent remembers of the finished agent that it continues.
	History []Message `json:"history,omitempty"`
}

// MessageArrived says that the person of the chat said something to the orchestrator.
type MessageArrived struct {
	// Message is the name of the message; the same one counts once.
	Message string `json:"message"`
	Text    string `json:"text"`
	// Answers is the name of the agent whose posted question this is a reply to, if it is one, and Call the question.
	Answers string `json:"answers,omitempty"`
	Call    string `json:"call,omitempty"`
}

// ModelReplied says that a model call was answered.
type ModelReplied struct {
	Call   string        `json:"call"`
	Text   string        `json:"text,omitempty"`
	Calls  []CallRequest `json:"calls,omitempty"`
	Usage  Usage         `json:"usage,omitzero"`
	Finish Finish        `json:"finish,omitempty"`
}

// Finish says why the model stopped talking.
type Finish string

// Why the model stopped talking. The zero value is a normal stop.
const (
	// FinishLength: its answer reached the limit of output tokens and is cut off.
	FinishLength Finish = "length"
)

// ModelFailed says that a model call was not answered.
type ModelFailed struct {
	Call    string       `json:"call"`
	Attempt int          `json:"attempt"`
	Failure ModelFailure `json:"failure"`
	// Message are the provider's words.
	Message string `json:"message,omitempty"`
	// RetryAt is when a retryable call may be tried again. Jitter is random, so it is the driver's to decide.
	RetryAt Time `json:"retryAt,omitempty"`
}

// ModelFailure is the class of a failed model call.
type ModelFailure string

// The classes of failed model calls.
const (
	// FailureRetry may pass: a rate limit, an overload, a cut connection.
	FailureRetry ModelFailure = "Retry"
	// FailureFinal will not: a bad key, a bad request.
	FailureFinal ModelFailure = "Final"
	// FailureContext: the prompt does not fit into the model's context.
	FailureContext ModelFailure = "ContextTooLong"
	// FailureBudget: the budget of the tree does not allow the call.
	FailureBudget ModelFailure = "Budget"
)

// ToolFinished says that a tool call came to an end.
type ToolFinished struct {
	Call    string      `json:"call"`
	Outcome ToolOutcome `json:"outcome"`
	// Text is what the model is told: the result, or what went wrong and what to do about it.
	Text string `json:"text,omitempty"`
}

// ToolOutcome is how a tool call ended.
type ToolOutcome string

// How a tool call ended.
const (
	ToolSucceeded ToolOutcome = "Success"
	ToolFailed    ToolOutcome = "Failed"
	// ToolDenied: a person decided that it may not run.
	ToolDenied ToolOutcome = "Denied"
	// ToolUnknown: it was interrupted, and whether it took effect is not known.
	ToolUnknown ToolOutcome = "Unknown"
)

// Decided says that a person decided about a tool call.
type Decided struct {
	Call    string `json:"call"`
	Approve bool   `json:"approve,omitempty"`
	Comment string `json:"comment,omitempty"`
	// By is the person, if known, and Message the name of the message that says so, if one does.
	By      string `json:"by,omitempty"`
	Message string `json:"message,omitempty"`
}

// Answered says that somebody answered the agent's question.
type Answered struct {
	// Call is the ask_user call that is answered.
	Call string `json:"call"`
	Text string `json:"text"`
	// Message is the name of the message that answers it, if one does.
	Message string `json:"message,omitempty"`
}

// ChildFinished says that a child came to an end, one way or another.
type ChildFinished struct {
	Child   string  `json:"child"`
	Outcome Outcome `json:"outcome"`
	// Usage is what the child used with everything below it.
	Usage Usage `json:"usage,omitzero"`
}

// ChildWaits says that a child began to wait for a person, or no longer does. While all that an agent waits for waits for a
// person, its own time does not count.
type ChildWaits struct {
	Child   string `json:"child"`
	Waiting bool   `json:"waiting,omitempty"`
}

// Asked says that an agent somewhere below the orchestrator needs the person: an answer or a decision.
type Asked struct {
	// Agent is the agent's name, Task that of its task; they differ only for tool runs, which have no agent.
	Agent   string `json:"agent"`
	Display string `json:"display,omitempty"`
	Task    string `json:"task"`
	// Call is the tool call: the ask_user call, or the one that needs a decision.
	Call string  `json:"call"`
	Kind AskKind `json:"kind"`
	// Text is the question. For a decision, Tool and Arguments say what would run.
	Text      string `json:"text,omitempty"`
	Tool      string `json:"tool,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

// AskKind is what an agent needs a person for.
type AskKind string

// What an agent needs a person for.
const (
	AskQuestion AskKind = "Question"
	AskApproval AskKind = "Approval"
)

// Settled says that what an agent asked is settled, by whomever.
type Settled struct {
	Agent string `json:"agent"`
	Call  string `json:"call"`
	// Gone says that the agent has ended, so that its other questions are settled too.
	Gone bool `json:"gone,omitempty"`
}

// Cancelled says that somebody wants the work to stop.
type Cancelled struct {
	// Message is the name of the message that asks for it, if one does; the same one counts once.
	Message string `json:"message,omitempty"`
	// Task is the child to cancel. Empty: the agent itself, or all the work of an orchestrator.
	Task string `json:"task,omitempty"`
	By   string `json:"by,omitempty"`
}

// Woke says that a moment that the agent wanted to be woken at has come.
type Woke struct{}

// Restarted says that a driver took over. The time since the event before does not count.
type Restarted struct {
	// Unknown are the tool calls that had begun, have no result, and must not be run again.
	Unknown []string `json:"unknown,omitempty"`
}

// Delivered says that something from the outbox reached its destination.
type Delivered struct {
	ID string `json:"id"`
}

func (Started) fact()        {}
func (MessageArrived) fact() {}
func (ModelReplied) fact()   {}
func (ModelFailed) fact()    {}
func (ToolFinished) fact()   {}
func (Decided) fact()        {}
func (Answered) fact()       {}
func (ChildFinished) fact()  {}
func (ChildWaits) fact()     {}
func (Asked) fact()          {}
func (Settled) fact()        {}
func (Cancelled) fact()      {}
func (Woke) fact()           {}
func (Restarted) fact()      {}
func (Delivered) fact()      {}
