// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"

	"github.com/nestor-dev/nestor/internal/agent/budget"
)

// Kind is the kind of an agent. All kinds run the same state machine with different permissions.
type Kind string

// The kinds of agent.
const (
	// Orchestrator is the agent of a chat. It never ends; its delegations run in parallel to the conversation.
	Orchestrator Kind = "Orchestrator"
	// SubAgent works on one task and ends. It waits for its delegations.
	SubAgent Kind = "SubAgent"
	// ToolRun is one tool call without a model: a task of type Tool.
	ToolRun Kind = "ToolRun"
)

// Config is the configuration of an agent. A sub-agent keeps its configuration until it ends, so editing a role affects only
// agents that start later. Reconfigured replaces that of an orchestrator.
type Config struct {
	Kind Kind `json:"kind"`
	// Name is the name of the agent's object; the names of its children derive from it.
	Name string `json:"name"`
	// TaskName is the name of the agent's task if it differs from Name; see ChildName.
	TaskName string `json:"taskName,omitempty"`
	Role     Role   `json:"role"`
	// Revisions are the revisions of gated roles that the agent and those below it have, by the names of the roles. The core only passes
	// them on.
	Revisions map[string]string `json:"revisions,omitempty"`
	// ParentRole is the display name of the parent, for the system prompt.
	ParentRole string `json:"parentRole,omitempty"`
	// Depth is 0 for an orchestrator, 1 for its children and for standalone tasks, and so on.
	Depth    int `json:"depth"`
	MaxDepth int `json:"maxDepth"`
	// Task is the work of a sub-agent.
	Task Task `json:"task,omitzero"`
	// OutputSchema is the JSON schema of the data that a sub-agent submits with its result. It is nil if the result is text only. It is
	// used in the parameters of submit_result as the property data, and its references start there.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Isolated reports that nothing but data of the OutputSchema leaves the agent. It has no tools, delegates nothing and asks no questions.
	Isolated bool `json:"isolated,omitempty"`
	// Review configures the review of a sub-agent's results; nil means that they are not reviewed.
	Review   *Review      `json:"review,omitempty"`
	ToolCall *ToolRunCall `json:"toolCall,omitempty"`
	// Tools are all tools that exist for this agent; the function Tools selects those that its role allows.
	Tools []Tool `json:"tools,omitempty"`
	// Skills are the skills of its role, for the system prompt.
	Skills []Skill `json:"skills,omitempty"`
	// Delegates are the existing roles that its role may delegate to, MissingDelegates the names of those that do not exist.
	Delegates        []Delegate `json:"delegates,omitempty"`
	MissingDelegates []string   `json:"missingDelegates,omitempty"`
	Limits           Limits     `json:"limits"`
	AutoAnswer       AutoAnswer `json:"autoAnswer,omitzero"`
	// Provider and Model select where model calls go. The core only passes them on.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// Generation is the generation of the object that the configuration was read from.
	Generation int64 `json:"generation,omitempty"`
	// Price is nil if the price of the model is unknown.
	Price *Price `json:"price,omitempty"`
	// ConversationID is part of the names of the children and posts of an orchestrator that restarts after its history was lost.
	// Objects of the lost conversation have the names without it.
	ConversationID string `json:"conversationID,omitempty"`
	// WaitForStartPublished makes a tool run wait for StartPublished before it runs its tool.
	WaitForStartPublished bool `json:"awaitStartPublished,omitempty"`
	// Remote reports that the work is done by an agent elsewhere, which the model calls reach: what they started may continue there
	// after this agent has ended, so it is cancelled.
	Remote bool `json:"remote,omitempty"`
	// RemoteContent describes what the remote agent writes.
	RemoteContent Content `json:"remoteContent,omitzero"`
	// Origin is the message and tool call that led to this agent. The core only passes it on.
	Origin Origin `json:"origin,omitzero"`
	// Fork is set if the agent continues a recorded run.
	Fork *Fork `json:"fork,omitempty"`
}

// Role contains the prompt, tools and approval rules of an agent.
type Role struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName,omitempty"`
	Prompt      string `json:"prompt,omitempty"`
	// Allow and Deny are globs on tool names. A nil Allow allows the built-in tools, an empty one no tools.
	Allow []string `json:"allow"`
	Deny  []string `json:"deny,omitempty"`
	// Approval selects the calls that need an approval; ApprovalTools always need one.
	Approval      ApprovalMode `json:"approval,omitempty"`
	ApprovalTools []string     `json:"approvalTools,omitempty"`
	// SharedBy is the namespace that shares the role with the agent's namespace. It is empty for built-in roles and those of the
	// agent's own namespace. The core only passes it on.
	SharedBy string `json:"sharedBy,omitempty"`
	// Revision is the digest of the role that the configuration was made from. The core only passes it on.
	Revision string `json:"revision,omitempty"`
	// DenyRequesters reports whether the decisions of people who requested the work are rejected.
	DenyRequesters bool `json:"denyRequesters,omitempty"`
	// AllowServiceAccounts accepts decisions of service accounts under DenyRequesters.
	AllowServiceAccounts bool `json:"allowServiceAccounts,omitempty"`
	// ApprovalTimeout is how long people can decide about a call; zero means no limit. FailOnTimeout ends the agent when it has passed,
	// instead of denying the call.
	ApprovalTimeout Millis `json:"approvalTimeout,omitempty"`
	FailOnTimeout   bool   `json:"failOnTimeout,omitempty"`
	// EditableApprovals accepts approvals with edited arguments.
	EditableApprovals bool `json:"editableApprovals,omitempty"`
	// Temperature is nil if the role leaves it to the model.
	Temperature *float64 `json:"temperature,omitempty"`
	// ReasoningEffort is how much the model should reason: None, Low, Medium or High. It is empty if the role leaves it to the model.
	ReasoningEffort string `json:"reasoningEffort,omitempty"`
}

// Display returns the name for people.
func (r Role) Display() string {
	if r.DisplayName != "" {
		return r.DisplayName
	}
	return r.Name
}

// ApprovalMode selects the tool calls that need an approval.
type ApprovalMode string

// The approval modes. The zero value is ApproveWrites.
const (
	ApproveWrites ApprovalMode = "WriteTools"
	ApproveAlways ApprovalMode = "Always"
	ApproveNever  ApprovalMode = "Never"
)

// Delegate is a role that an agent may delegate to.
type Delegate struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName,omitempty"`
	Description string `json:"description,omitempty"`
	// When contains short phrases that describe when to delegate to it.
	When   []string `json:"when,omitempty"`
	AsTool *AsTool  `json:"asTool,omitempty"`
	// Isolated reports that only data leaves agents with the role.
	Isolated bool `json:"isolated,omitempty"`
}

// AsTool offers a role as a tool with its own input.
type AsTool struct {
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

// Skill is the name of a skill and what it is for. The agent reads it with a tool.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Content
}

// Tool is a plain tool as presented to the model.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	// BuiltIn tools are allowed for roles without an Allow list.
	BuiltIn bool `json:"builtIn,omitempty"`
	// Granted tools belong to something that the role has, such as its skills: Allow does not have to name them.
	Granted bool `json:"granted,omitempty"`
	// ReadOnly tools change nothing: they run without approval and may be repeated after a crash.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Idempotent tools may be repeated after a crash, but need an approval.
	Idempotent bool `json:"idempotent,omitempty"`
	// Added reports that the description of the tool is from outside: the server added the tool later, and it is not accepted. Its source
	// has the labels of Content.
	Added   bool    `json:"added,omitempty"`
	Content Content `json:"content,omitzero"`
	// Approval, if not empty, was decided with the tool: see ToolApproval.
	Approval ToolApproval `json:"approval,omitempty"`
}

// ToolApproval is what a tool itself says about approvals. The zero value leaves it to the role.
type ToolApproval string

// The values of ToolApproval.
const (
	// ToolApprovalRequired asks for every call, also for a role that asks for none.
	ToolApprovalRequired ToolApproval = "Required"
	// ToolApprovalNotRequired treats the tool like a read-only one: only a role that asks for every call, or names the tool, asks.
	ToolApprovalNotRequired ToolApproval = "NotRequired"
)

// Task is the work of a sub-agent.
type Task struct {
	Instruction     string          `json:"instruction,omitempty"`
	Arguments       json.RawMessage `json:"arguments,omitempty"`
	ContextFiles    []string        `json:"contextFiles,omitempty"`
	SuccessCriteria string          `json:"successCriteria,omitempty"`
	WorkingDir      string          `json:"workingDir,omitempty"`
	// ContextMode selects the context that the agent receives besides its task, and Context is its text. Files are read when the
	// agent starts.
	ContextMode string `json:"contextMode,omitempty"`
	Context     string `json:"context,omitempty"`
	// Inputs are read when an isolated agent starts.
	Inputs *Inputs `json:"inputs,omitempty"`
}

type ToolRunCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Limits bound an agent. For an orchestrator, iterations and duration bound one turn. Zero means no limit.
type Limits struct {
	MaxIterations int `json:"maxIterations,omitempty"`
	// MaxDuration excludes time spent waiting for a person.
	MaxDuration Millis `json:"maxDuration,omitempty"`
	// MaxTokens and MaxCostMicros apply to the agent and its subtree.
	MaxTokens     int64 `json:"maxTokens,omitempty"`
	MaxCostMicros int64 `json:"maxCostMicros,omitempty"`
	// MaxTasks bounds the tasks started by the agent and below it.
	MaxTasks int64 `json:"maxTasks,omitempty"`
	// The runaway limits of a chat: turns of the orchestrator, and tasks and tokens of the whole tree, since the last message of
	// a person.
	MaxTurnsPerMessage  int   `json:"maxTurnsPerMessage,omitempty"`
	MaxTasksPerMessage  int64 `json:"maxTasksPerMessage,omitempty"`
	MaxTokensPerMessage int64 `json:"maxTokensPerMessage,omitempty"`
	// MaxRepeats is how often the same delegation may end with the same result before it counts as a loop.
	MaxRepeats int `json:"maxRepeats,omitempty"`
	// MaxOutputTokens bounds the reply of one model call.
	MaxOutputTokens int64 `json:"maxOutputTokens,omitempty"`
	// ContextTokens is the size of the model's context; a history that gets close to it is compacted.
	ContextTokens int64 `json:"contextTokens,omitempty"`
	// MaxRetries bounds the attempts of a model call after the first.
	MaxRetries int `json:"maxRetries,omitempty"`
}

// AutoAnswer configures whether an orchestrator may answer a sub-agent's question itself.
type AutoAnswer struct {
	Enabled        bool `json:"enabled,omitempty"`
	MinConfidence  int  `json:"minConfidence,omitempty"`
	MaxPerQuestion int  `json:"maxPerQuestion,omitempty"`
}

// Price is the price of a million tokens, in millionths of the currency.
type Price struct {
	Currency string `json:"currency,omitempty"`
	Input    int64  `json:"input"`
	Output   int64  `json:"output"`
}

// budget returns the limits that hold for an agent and its subtree.
func (l Limits) budget() budget.Amount {
	return budget.Amount{Tokens: l.MaxTokens, CostMicros: l.MaxCostMicros, Tasks: l.MaxTasks}
}

// reserveFor returns the most that a model call can use: its estimated prompt and the longest reply.
func (c Config) reserveFor(promptTokens int64) budget.Amount {
	a := budget.Amount{Tokens: budget.Sum(promptTokens, c.Limits.MaxOutputTokens)}
	if c.Price != nil {
		a.Currency = c.Price.Currency
		a.CostMicros = budget.Sum(budget.Cost(promptTokens, c.Price.Input), budget.Cost(c.Limits.MaxOutputTokens, c.Price.Output))
	}
	return a
}
