// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "github.com/nestor-dev/nestor/internal/agent/budget"

// Event is a fact with its time. The log of events is the complete history of an agent: the agent's state is the fold
// of its events.
type Event struct {
	At   Time
	Fact Fact
	// Usage is the usage of the whole tree, recorded at each event at which policies judge calls, even if there are none.
	// It is for testing policies against the record, and is not part of any state.
	Usage *budget.Amount
}

type Fact interface{ fact() }

// Started is the first event of every log. Later ones are ignored.
type Started struct {
	Config Config `json:"config"`
	// History is the history of the finished agent that this one continues, and Summary replaces its compacted beginning.
	History []Message `json:"history,omitempty"`
	Summary string    `json:"summary,omitempty"`
	// Labels are the content labels that the agent inherits from its parent, and ContinuedLabels those that it inherits
	// from the agent that it continues.
	Labels          []string `json:"labels,omitempty"`
	ContinuedLabels []string `json:"continuedLabels,omitempty"`
	// Requesters are the requesters of a fork and of its origin, if the fork does not begin with the origin's events.
	Requesters Requesters `json:"requesters,omitzero"`
	// Policed reports that policies apply to the agent.
	Policed bool `json:"policed,omitempty"`
}

// MessageArrived is the fact that a person sent a message to the orchestrator.
type MessageArrived struct {
	// Message is the name of the message; repeated events are ignored.
	Message string `json:"message"`
	Text    string `json:"text"`
	// Answers is the name of the agent whose posted question the message replies to, if any. Call is the question's id.
	Answers string `json:"answers,omitempty"`
	Call    string `json:"call,omitempty"`
	// User is the user name of the author. Unnamed reports that the message does not name its author.
	User    string `json:"user,omitempty"`
	Unnamed bool   `json:"unnamed,omitempty"`
	// FireUser is the user name of the person who fired the trigger of the message. User is the author of the trigger.
	FireUser string `json:"fireUser,omitempty"`
	// Trigger reports that a trigger sent the message.
	Trigger bool `json:"trigger,omitempty"`
	// Images are attached to the message.
	Images []Image `json:"images,omitempty"`
	// TreeUsage is the usage of the whole tree when the message arrived. The limits per message count from there.
	TreeUsage budget.Amount `json:"treeUsage,omitzero"`
	// Labels are the content labels of the text: of attachments, and of a trigger with content from outside.
	Labels []string `json:"labels,omitempty"`
}

// ModelReplied is the fact that a model call got a reply.
type ModelReplied struct {
	Call   string       `json:"call"`
	Text   string       `json:"text,omitempty"`
	Calls  []ToolCall   `json:"calls,omitempty"`
	Usage  budget.Usage `json:"usage,omitzero"`
	Finish Finish       `json:"finish,omitempty"`
	// Reasoning is the text of the model's reasoning, for people. The state does not contain it.
	Reasoning string `json:"reasoning,omitempty"`
	// ReasoningItems must be sent back with the reply in later requests.
	ReasoningItems []ReasoningItem `json:"reasoningItems,omitempty"`
	// Recorded reports that the reply was read from the record of a fork: no model was called, and the usage counts only
	// for limits.
	Recorded bool `json:"recorded,omitempty"`
	// TasksLeft is the number of tasks that this reply may start under the limits of the tree, at most RequestedTasks. If
	// nil, only the agent's own limits apply.
	TasksLeft *int64 `json:"tasksLeft,omitempty"`
}

// Finish is the reason why the reply ended.
type Finish string

// The finish reasons. The zero value is a normal stop.
const (
	// FinishLength: the reply reached the limit of output tokens and is cut off.
	FinishLength Finish = "length"
)

// ModelFailed is the fact that an attempt of a model call failed.
type ModelFailed struct {
	Call    string       `json:"call"`
	Attempt int          `json:"attempt"`
	Failure ModelFailure `json:"failure"`
	// Message is the provider's error message.
	Message string `json:"message,omitempty"`
	// Cause is the cause of a retryable failure.
	Cause RetryCause `json:"cause,omitempty"`
	// Usage is the usage of the failed call: a refusal costs as much as a reply. Nil means none.
	Usage *budget.Usage `json:"usage,omitempty"`
	// RetryTime is when a retryable call may be retried. The driver chooses it, because jitter is random.
	RetryTime Time `json:"retryTime,omitempty"`
}

type RetryCause string

// The causes of a retry. The zero value is any other cause.
const (
	// CauseRateLimited: the provider's rate limit is reached.
	CauseRateLimited RetryCause = "RateLimited"
	// CauseUnavailable: the provider cannot be reached, has no capacity, or does not answer in time.
	CauseUnavailable RetryCause = "ProviderUnavailable"
)

// ModelFailure is the class of a failed model call.
type ModelFailure string

// The classes of failed model calls.
const (
	// FailureRetry is transient: a rate limit, an overload, a cut connection.
	FailureRetry ModelFailure = "Retry"
	// FailureFinal is permanent: a bad key, a bad request.
	FailureFinal ModelFailure = "Final"
	// FailureContext: the prompt does not fit into the model's context.
	FailureContext ModelFailure = "ContextTooLong"
	// FailureBudget: the budget of the tree does not allow the call.
	FailureBudget ModelFailure = "Budget"
	// FailureMessageBudget: the limits until the next message of a person do not allow the call.
	FailureMessageBudget ModelFailure = "MessageBudget"
	// FailureDiverged: the record of a fork has no reply to the call.
	FailureDiverged ModelFailure = "Diverged"
)

// ToolFinished is the fact that a tool call ended.
type ToolFinished struct {
	Call    string      `json:"call"`
	Outcome ToolOutcome `json:"outcome"`
	// Text is the answer for the model: the result, or the error and how to correct it.
	Text   string  `json:"text,omitempty"`
	Images []Image `json:"images,omitempty"`
	// Diff is what the call changed in a file, as the tool reports it. It is recorded for people: no state contains it.
	Diff string `json:"diff,omitempty"`
	Content
}

// ToolOutcome is how a tool call ended.
type ToolOutcome string

// The outcomes of a tool call.
const (
	ToolSucceeded ToolOutcome = "Success"
	ToolFailed    ToolOutcome = "Failed"
	// ToolDenied: a person denied it.
	ToolDenied ToolOutcome = "Denied"
	// ToolUnknown: it was interrupted, and it is unknown whether it took effect.
	ToolUnknown ToolOutcome = "Unknown"
)

// Decided is the fact that a person approved or denied a tool call.
type Decided struct {
	Call    string `json:"call"`
	Approve bool   `json:"approve,omitempty"`
	Comment string `json:"comment,omitempty"`
	// Digest is the CallDigest of the call that was shown to the person. A decision with a different digest is ignored.
	// If empty, the decision names the call only by its id.
	Digest string `json:"digest,omitempty"`
	// Arguments replace those of the approved call; empty if the person did not edit them. EditedDigest is the CallDigest
	// of the edited call.
	Arguments    string `json:"arguments,omitempty"`
	EditedDigest string `json:"editedDigest,omitempty"`
	// User is the user name of the person, and Message the name of the message that contains the decision, if any.
	User    string `json:"user,omitempty"`
	Message string `json:"message,omitempty"`
	// Requesters are the requesters of the work, if the role requires DenyRequesters.
	Requesters Requesters `json:"requesters,omitzero"`
	// Allowance is the name of the allowance of the chat that approved the call, if one did.
	Allowance string `json:"allowance,omitempty"`
}

// Answered is the fact that the agent's question was answered.
type Answered struct {
	// Call is the ask that is answered: the ask_user call, or the id of a tool's question.
	Call string `json:"call"`
	Text string `json:"text"`
	// Message is the name of the message that contains the answer, if any, and User the user name of its author. Unnamed
	// reports that the message does not name its author.
	Message string `json:"message,omitempty"`
	User    string `json:"user,omitempty"`
	Unnamed bool   `json:"unnamed,omitempty"`
	// Images are attached to the message.
	Images []Image `json:"images,omitempty"`
	// Labels are the content labels of the answer: of attachments, or those of the orchestrator that answers.
	Labels []string `json:"labels,omitempty"`
}

// ChildFinished is the fact that a child ended.
type ChildFinished struct {
	Child   string  `json:"child"`
	Outcome Outcome `json:"outcome"`
	// Usage is the usage of the child and everything below it.
	Usage budget.Usage `json:"usage,omitzero"`
	// Counted is the amount that counts against budgets if it differs from Usage: an unknown cost counts as reserved.
	Counted budget.Amount `json:"counted,omitzero"`
}

// ChildWaits is the fact that a child started or stopped waiting for a person or a quota. The time in which an agent
// waits only for such children does not count.
type ChildWaits struct {
	Child   string `json:"child"`
	Waiting bool   `json:"waiting,omitempty"`
}

// Asked is the fact that an agent below the orchestrator needs an answer or a decision from a person.
type Asked struct {
	// Agent is the name of the agent. Task is the name of its task, which is usually the same. UID identifies the agent;
	// older events do not have it.
	Agent   string `json:"agent"`
	UID     string `json:"uid,omitempty"`
	Display string `json:"display,omitempty"`
	Task    string `json:"task"`
	// Call is the tool call: the ask_user call, or the one that needs a decision.
	Call string  `json:"call"`
	Kind AskKind `json:"kind"`
	// Text is the question. For an approval, Tool and Arguments are the call.
	Text      string `json:"text,omitempty"`
	Tool      string `json:"tool,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	// DenyRequesters reports whether the decisions of people who requested the work are rejected.
	DenyRequesters bool `json:"denyRequesters,omitempty"`
	// OfTool reports that a tool server asks: a model must not answer it, because the text is not trusted.
	OfTool bool `json:"ofTool,omitempty"`
	// ExpireTime is the deadline for the decision or answer, and Timeout the time from the ask until then. Zero means no
	// limit.
	ExpireTime Time   `json:"expireTime,omitempty"`
	Timeout    Millis `json:"timeout,omitempty"`
	// Editable reports that a person may approve the call with edited arguments.
	Editable bool `json:"editable,omitempty"`
	// Labels are the content labels of the agent that asks.
	Labels []string `json:"labels,omitempty"`
	// Policy contains the rules of policies that require the approval; nil if there are none.
	Policy *CallVerdict `json:"policy,omitempty"`
}

type AskKind string

// The kinds of asks.
const (
	AskQuestion AskKind = "Question"
	AskApproval AskKind = "Approval"
)

// AskResolved is the fact that an ask was resolved, by a person or because its agent ended.
type AskResolved struct {
	Agent string `json:"agent"`
	Call  string `json:"call"`
	// AgentEnded reports that the agent has ended, which resolves its other asks too.
	AgentEnded bool `json:"agentEnded,omitempty"`
	// Expired reports that no one decided in time.
	Expired bool `json:"expired,omitempty"`
}

// Cancelled stops the agent, or all work of an orchestrator. A single task of a chat is cancelled by an event of its
// own agent.
type Cancelled struct {
	// Message is the name of the message that requests it, if any; repeated events are ignored.
	Message string `json:"message,omitempty"`
	// User is the user name of the person, or a description of what else cancelled the work.
	User string `json:"user,omitempty"`
	// Reply is the text that the model call in flight had returned so far.
	Reply string `json:"reply,omitempty"`
	// Usage is the usage of that call: providers charge for a reply that is stopped.
	Usage *budget.Usage `json:"usage,omitempty"`
}

// RemoteCancelled is the fact that the remote agent was asked to stop the work of an agent that ends.
type RemoteCancelled struct {
	// Problem explains why the remote work may continue. It is empty if the work was stopped.
	Problem string `json:"problem,omitempty"`
}

// Woke is the fact that the time of a WakeAt has come.
type Woke struct{}

// Restarted is the fact that a driver took over. The time since the previous event does not count.
type Restarted struct {
	// Unknown are the tool calls that had started, have no result, and must not be repeated.
	Unknown []string `json:"unknown,omitempty"`
	OpenCalls
	// Policed reports that policies apply to the agent.
	Policed bool `json:"policed,omitempty"`
}

// OpenCalls are the tool calls of the batch whose intent is recorded and whose result is not.
type OpenCalls struct {
	// InFlight are the calls that this driver or its predecessor still runs. Interrupted are the others.
	InFlight    []string `json:"inFlight,omitempty"`
	Interrupted []string `json:"interrupted,omitempty"`
}

// Resumed is the fact that an agent that waited for a slot got one. The time since the previous event does not count.
type Resumed struct {
	OpenCalls
	// Policed reports that policies apply to the agent.
	Policed bool `json:"policed,omitempty"`
}

// ItemSent is the fact that an item of the outbox was sent.
type ItemSent struct {
	ID string `json:"id"`
	// Name is the name of a post's message. After the loss of a history, ids repeat and names do not.
	Name string `json:"name,omitempty"`
}

// NameTaken is the fact that an unrelated object has the name of a child or post that was to be created.
type NameTaken struct {
	Name string `json:"name"`
	// Item is the id of the post; empty for a child.
	Item string `json:"item,omitempty"`
	// Suffix distinguishes the new name. It derives from the UID of the agent's object, so the driver chooses it.
	Suffix string `json:"suffix"`
}

func (Started) fact()         {}
func (MessageArrived) fact()  {}
func (ModelReplied) fact()    {}
func (ModelFailed) fact()     {}
func (ToolFinished) fact()    {}
func (Decided) fact()         {}
func (Answered) fact()        {}
func (ChildFinished) fact()   {}
func (ChildWaits) fact()      {}
func (Asked) fact()           {}
func (AskResolved) fact()     {}
func (Cancelled) fact()       {}
func (RemoteCancelled) fact() {}
func (Woke) fact()            {}
func (Restarted) fact()       {}
func (Resumed) fact()         {}
func (ItemSent) fact()        {}
func (NameTaken) fact()       {}
