// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

// Event is something that happened, and when. A log of events is an agent's whole history: its state is their fold.
type Event struct {
	At   Time
	Fact Fact
	// Estimate is how tokens were estimated when the event was recorded, which a replay must repeat.
	Estimate Estimate
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
	// By is the user name of the person, or Unnamed says that the message does not say it.
	By      string `json:"by,omitempty"`
	Unnamed bool   `json:"unnamed,omitempty"`
	// Spent is the usage of the whole tree when the message arrived. The limits of the message count from there.
	Spent Amount `json:"spent,omitzero"`
}

// ModelReplied says that a model call was answered.
type ModelReplied struct {
	Call   string        `json:"call"`
	Text   string        `json:"text,omitempty"`
	Calls  []CallRequest `json:"calls,omitempty"`
	Usage  Usage         `json:"usage,omitzero"`
	Finish Finish        `json:"finish,omitempty"`
	// Say says that the text goes to the person also if there are calls beside it. Logs of earlier releases lack it: their
	// posts are numbered without such texts.
	Say bool `json:"say,omitempty"`
	// TasksLeft is how many tasks this reply may start: what the limits of the tree leave, at most TasksWanted. Absent, the
	// agent knows of no limit but its own.
	TasksLeft *int64 `json:"tasksLeft,omitempty"`
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
	// Cause is why a retryable call failed.
	Cause RetryCause `json:"cause,omitempty"`
	// Usage is what the call used all the same: a refusal is charged like an answer. Nil is nothing.
	Usage *Usage `json:"usage,omitempty"`
	// RetryAt is when a retryable call may be tried again. Jitter is random, so it is the driver's to decide.
	RetryAt Time `json:"retryAt,omitempty"`
}

// RetryCause is why a model call is tried again.
type RetryCause string

// Why a model call is tried again. The zero value is any other cause.
const (
	// CauseRateLimited: the provider allows no more requests or tokens now.
	CauseRateLimited RetryCause = "RateLimited"
	// CauseUnavailable: the provider cannot be reached, has no capacity, or does not answer in time.
	CauseUnavailable RetryCause = "ProviderUnavailable"
)

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
	// FailureMessageBudget: what the chat may use until a person sends the next message does not allow the call.
	FailureMessageBudget ModelFailure = "MessageBudget"
)

// ToolFinished says that a tool call came to an end.
type ToolFinished struct {
	Call    string      `json:"call"`
	Outcome ToolOutcome `json:"outcome"`
	// Text is what the model is told: the result, or what went wrong and what to do about it.
	Text string `json:"text,omitempty"`
	// Images are the pictures that the tool returned.
	Images []Image `json:"images,omitempty"`
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
	// Digest is the CallDigest of the call that was shown to the person. A decision whose digest is not that of the call changes
	// nothing. Empty: the person named the call by its id alone.
	Digest string `json:"digest,omitempty"`
	// By is the user name of the person, and Message the name of the message that says so, if one does.
	By      string `json:"by,omitempty"`
	Message string `json:"message,omitempty"`
	// Askers are who asked for the work, if the role wants somebody else to decide.
	Askers Askers `json:"askers,omitzero"`
}

// Answered says that somebody answered the agent's question.
type Answered struct {
	// Call is the ask_user call that is answered.
	Call string `json:"call"`
	Text string `json:"text"`
	// Message is the name of the message that answers it, if one does, and By the user name of the person who wrote it; Unnamed says
	// that the message does not say it.
	Message string `json:"message,omitempty"`
	By      string `json:"by,omitempty"`
	Unnamed bool   `json:"unnamed,omitempty"`
}

// ChildFinished says that a child came to an end, one way or another.
type ChildFinished struct {
	Child   string  `json:"child"`
	Outcome Outcome `json:"outcome"`
	// Usage is what the child used with everything below it.
	Usage Usage `json:"usage,omitzero"`
}

// ChildWaits says that a child began to wait for a person or a quota, or no longer does. While all that an agent waits for waits
// like that, its own time does not count.
type ChildWaits struct {
	Child   string `json:"child"`
	Waiting bool   `json:"waiting,omitempty"`
}

// Asked says that an agent somewhere below the orchestrator needs the person: an answer or a decision.
type Asked struct {
	// Agent is the agent's name, Task that of its task; they are mostly the same. UID identifies the agent; older events have none.
	Agent   string `json:"agent"`
	UID     string `json:"uid,omitempty"`
	Display string `json:"display,omitempty"`
	Task    string `json:"task"`
	// Call is the tool call: the ask_user call, or the one that needs a decision.
	Call string  `json:"call"`
	Kind AskKind `json:"kind"`
	// Text is the question. For a decision, Tool and Arguments say what would run.
	Text      string `json:"text,omitempty"`
	Tool      string `json:"tool,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	// Separation says that somebody must decide who did not ask for the work.
	Separation bool `json:"separation,omitempty"`
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

// Cancelled ends the agent, or all the work of an orchestrator. One task of a chat is cancelled by its own agent's event.
type Cancelled struct {
	// Message is the name of the message that asks for it, if one does; the same one counts once.
	Message string `json:"message,omitempty"`
	// By is the user name of the person, or words for what else cancelled the work.
	By string `json:"by,omitempty"`
}

// Woke says that a moment that the agent wanted to be woken at has come.
type Woke struct{}

// Restarted says that a driver took over. The time since the event before does not count.
type Restarted struct {
	// Unknown are the tool calls that had begun, have no result, and must not be run again.
	Unknown []string `json:"unknown,omitempty"`
}

// Resumed says that an agent goes on that had to wait until other agents left room for it. The time since the event before does
// not count.
type Resumed struct{}

// Delivered says that something from the outbox reached its destination.
type Delivered struct {
	ID string `json:"id"`
}

// NameTaken says that an object of somebody else has the name of a child, or of a post, that was to be created.
type NameTaken struct {
	Name string `json:"name"`
	// Item is the id of the post; empty if the name is a child's.
	Item string `json:"item,omitempty"`
	// Suffix makes another name of it. It derives from the UID of the agent's object, so it is the driver's to choose.
	Suffix string `json:"suffix"`
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
func (Resumed) fact()        {}
func (Delivered) fact()      {}
func (NameTaken) fact()      {}
