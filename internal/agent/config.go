// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "encoding/json"

// Kind is what an agent is for. All kinds run the same machine; what differs is who may do what.
type Kind string

// The kinds of agent.
const (
	// Orchestrator talks to the person of a chat. It never ends; its delegations run beside the conversation.
	Orchestrator Kind = "Orchestrator"
	// SubAgent does one piece of work and ends. Its delegations suspend it.
	SubAgent Kind = "SubAgent"
	// ToolRun is one tool call without a model: a task of type Tool.
	ToolRun Kind = "ToolRun"
)

// Config is the configuration of an agent. A sub-agent keeps the one it started with, so editing a role affects only agents
// that start later; Reconfigured replaces an orchestrator's.
type Config struct {
	Kind Kind `json:"kind"`
	// Name is the name of the agent's object; the names of its children derive from it.
	Name string `json:"name"`
	// TaskName is the name of the agent's task if it is another one; see ChildName.
	TaskName string `json:"taskName,omitempty"`
	Role     Role   `json:"role"`
	// ParentRole is the display name of the one that asked, for the system prompt.
	ParentRole string `json:"parentRole,omitempty"`
	// Depth is 0 for an orchestrator, 1 for what it delegates to or for a standalone task, and so on.
	Depth    int `json:"depth"`
	MaxDepth int `json:"maxDepth"`
	// Task is the work of a sub-agent.
	Task Task `json:"task,omitzero"`
	// Call is the one call of a tool run.
	Call *PlannedCall `json:"call,omitempty"`
	// Tools are all tools that exist for this agent; what its role allows of them is a question for Tools.
	Tools []Tool `json:"tools,omitempty"`
	// Delegates are the roles that exist of those that its role may delegate to, Absent the names of the others.
	Delegates  []Delegate `json:"delegates,omitempty"`
	Absent     []string   `json:"absent,omitempty"`
	Limits     Limits     `json:"limits"`
	AutoAnswer AutoAnswer `json:"autoAnswer,omitzero"`
	// Provider and Model are where the agent's calls go. The core passes them on.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// Shares says that summaries for delegated agents are made by a model, and that files need names. Logs of earlier releases do not
	// have it, and lead to what they led to then.
	Shares bool `json:"shares,omitempty"`
	// Generation is that of the object that the configuration comes from.
	Generation int64 `json:"generation,omitempty"`
	// Price is nil when the price of the model is unknown.
	Price *Price `json:"price,omitempty"`
	// Conversation is part of the names of the children and posts of an orchestrator that begins anew because the ledger has lost its
	// history: objects of the conversation before have the names without it.
	Conversation string `json:"conversation,omitempty"`
	// AwaitShown lets a tool run wait for Shown before its tool runs.
	AwaitShown bool `json:"awaitShown,omitempty"`
	// Origin is what the agent goes back to, for those who look at the work as a whole; the agent itself does not care.
	Origin Origin `json:"origin,omitzero"`
}

// Role says who an agent is.
type Role struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName,omitempty"`
	Prompt      string `json:"prompt,omitempty"`
	// Allow and Deny are globs on tool names. A nil Allow allows the built-in tools, an empty one none.
	Allow []string `json:"allow"`
	Deny  []string `json:"deny,omitempty"`
	// Approval says which calls a person must decide about; ApprovalTools need it in every mode.
	Approval      ApprovalMode `json:"approval,omitempty"`
	ApprovalTools []string     `json:"approvalTools,omitempty"`
	// SharedBy is the namespace that shares the role with the agent's; empty for a role of its own, and for a built-in one. The core
	// passes it on.
	SharedBy string `json:"sharedBy,omitempty"`
	// Separation lets nobody decide who asked for the work.
	Separation bool `json:"separation,omitempty"`
	// Temperature is nil where the role leaves it to the model.
	Temperature *float64 `json:"temperature,omitempty"`
}

// Display is the name that people see.
func (r Role) Display() string {
	if r.DisplayName != "" {
		return r.DisplayName
	}
	return r.Name
}

// ApprovalMode says which tool calls a person must decide about.
type ApprovalMode string

// The modes of approval. The zero value is ApproveWrites.
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
	// When are short phrases that say when to delegate to it.
	When   []string `json:"when,omitempty"`
	AsTool *AsTool  `json:"asTool,omitempty"`
}

// AsTool offers a role as a tool with its own input.
type AsTool struct {
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

// Tool is a plain tool, as the model sees it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	// BuiltIn tools are allowed to roles that do not say what they allow.
	BuiltIn bool `json:"builtIn,omitempty"`
	// ReadOnly tools change nothing: they run without approval and may be run again after a crash.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Idempotent tools may be run again after a crash; they need approval all the same.
	Idempotent bool `json:"idempotent,omitempty"`
}

// Task is the work of a sub-agent.
type Task struct {
	Instruction     string          `json:"instruction,omitempty"`
	Arguments       json.RawMessage `json:"arguments,omitempty"`
	ContextFiles    []string        `json:"contextFiles,omitempty"`
	SuccessCriteria string          `json:"successCriteria,omitempty"`
	Cwd             string          `json:"cwd,omitempty"`
	// Mode says what the agent is shown beside its task, and Context is the text of it; files are read when the agent starts.
	Mode    string `json:"mode,omitempty"`
	Context string `json:"context,omitempty"`
}

// PlannedCall is the call of a tool run.
type PlannedCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Limits bound an agent; for an orchestrator, iterations and duration bound one turn. Zero is no limit.
type Limits struct {
	MaxIterations int `json:"maxIterations,omitempty"`
	// MaxDuration does not count time that is spent waiting for a person.
	MaxDuration Millis `json:"maxDuration,omitempty"`
	// MaxTokens and MaxCostMicros hold for the agent with its subtree.
	MaxTokens     int64 `json:"maxTokens,omitempty"`
	MaxCostMicros int64 `json:"maxCostMicros,omitempty"`
	// MaxTasks bounds the tasks that the agent and everything below it may start.
	MaxTasks int64 `json:"maxTasks,omitempty"`
	// The limits of a chat on what happens without a person: turns of the orchestrator, and tasks and tokens of the whole
	// tree, since the last message of a person.
	MaxTurnsPerMessage  int   `json:"maxTurnsPerMessage,omitempty"`
	MaxTasksPerMessage  int64 `json:"maxTasksPerMessage,omitempty"`
	MaxTokensPerMessage int64 `json:"maxTokensPerMessage,omitempty"`
	// MaxRepeats is how often the same delegation may come to the same result before it counts as a loop.
	MaxRepeats int `json:"maxRepeats,omitempty"`
	// MaxOutputTokens is the longest answer of one model call.
	MaxOutputTokens int64 `json:"maxOutputTokens,omitempty"`
	// ContextTokens is what fits into the model's context; a history that nears it is compacted.
	ContextTokens int64 `json:"contextTokens,omitempty"`
	// MaxRetries is how often a failed model call is tried again, the first try not counted.
	MaxRetries int `json:"maxRetries,omitempty"`
}

// AutoAnswer says when an orchestrator may answer a sub-agent's question itself.
type AutoAnswer struct {
	Enabled        bool `json:"enabled,omitempty"`
	MinConfidence  int  `json:"minConfidence,omitempty"`
	MaxPerQuestion int  `json:"maxPerQuestion,omitempty"`
}

// Price is what a million tokens cost, in millionths of the currency.
type Price struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}
