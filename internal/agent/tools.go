// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
)

// Tools lists the tools that an agent has, in the order in which the model sees them.
func Tools(c Config) []Tool {
	var tools []Tool
	listed := map[string]bool{}
	for _, name := range c.toolCandidates() {
		if t, ok := c.offered(name); ok && !listed[name] {
			listed[name] = true
			tools = append(tools, t)
		}
	}
	return tools
}

// toolCandidates returns the names of all tools that an agent may have: plain tools, then delegations, then the other control
// tools.
func (c Config) toolCandidates() []string {
	var names []string
	for _, t := range c.Tools {
		if !c.reserved(t.Name) {
			names = append(names, t.Name)
		}
	}
	names = append(names, ToolDelegate, ToolSpawn)
	for _, d := range c.Delegates {
		if d.AsTool != nil {
			names = append(names, d.AsTool.Name)
		}
	}
	return append(names, ToolAskUser, ToolReply, ToolContinue, ToolCancel, ToolTitle, ToolSubmit, ToolGiveUp)
}

// offered returns the tool with this name if the agent has it: its kind and depth must allow a control tool, its role a plain
// tool. Tools, Offers and SchemaOf all use it, so a tool is offered to the model exactly when a call of it is accepted.
func (c Config) offered(name string) (Tool, bool) {
	if slices.Contains(controlNames, name) {
		return c.controlTool(name)
	}
	if d, ok := c.roleTool(name); ok {
		return d.tool(), true
	}
	t, ok := c.tool(name)
	return t, ok && !c.Isolated && c.Role.allows(t)
}

func (c Config) controlTool(name string) (Tool, bool) {
	switch name {
	case ToolDelegate:
		return delegateTool(c), c.mayDelegate()
	case ToolSpawn:
		return spawnTool(c), c.mayDelegate()
	case ToolAskUser:
		return askUserTool, c.Kind != ToolRun && !c.Isolated
	case ToolSubmit:
		return submitTool(c), c.Kind == SubAgent
	case ToolGiveUp:
		return giveUpTool, c.Kind == SubAgent
	case ToolReply:
		return replyTool, c.Kind == Orchestrator
	case ToolContinue:
		return continueTool, c.Kind == Orchestrator
	case ToolCancel:
		return cancelTool, c.Kind == Orchestrator
	case ToolTitle:
		return titleTool, c.Kind == Orchestrator
	}
	return Tool{}, false
}

// mayDelegate reports whether kind, role and depth let an agent delegate at all.
func (c Config) mayDelegate() bool {
	return c.Kind != ToolRun && !c.Isolated && len(c.Delegates) > 0 && c.Depth < c.MaxDepth
}

func (c Config) mayDelegateTo(role string) bool { return slices.Contains(c.delegateNames(), role) }

func (c Config) delegateNames() []string {
	var names []string
	for _, d := range c.Delegates {
		names = append(names, d.Name)
	}
	return names
}

// Offers reports whether an agent has a tool.
func (c Config) Offers(name string) bool {
	_, ok := c.offered(name)
	return ok
}

// withholds reports whether a tool exists, but not for this agent.
func (c Config) withholds(name string) bool {
	control := slices.Contains(controlNames, name)
	_, plain := c.tool(name)
	asTool := slices.ContainsFunc(c.Delegates, func(d Delegate) bool { return d.AsTool != nil && d.AsTool.Name == name })
	return (control || plain || asTool) && !c.Offers(name)
}

// SchemaOf returns the JSON schema of the arguments of a plain tool, or of a role as a tool, that the agent has. Control tools
// check their arguments themselves, except submit_result of an agent with an OutputSchema.
func (c Config) SchemaOf(name string) (json.RawMessage, bool) {
	structured := name == ToolSubmit && len(c.OutputSchema) > 0
	if slices.Contains(controlNames, name) && !structured {
		return nil, false
	}
	t, ok := c.offered(name)
	return t.Parameters, ok
}

// startsTasks reports whether a call of the tool starts tasks: it delegates, or it is a plain tool of an orchestrator.
func (c Config) startsTasks(name string) bool {
	switch name {
	case ToolDelegate, ToolSpawn, ToolContinue:
		return true
	}
	if _, ok := c.roleTool(name); ok {
		return true
	}
	return c.Kind == Orchestrator && !c.reserved(name)
}

// reserved reports whether a name belongs to a control tool or a role. Tools of servers cannot use these names.
func (c Config) reserved(name string) bool {
	_, role := c.roleTool(name)
	return role || slices.Contains(controlNames, name)
}

// roleTool finds the role that is offered as a tool with this name.
func (c Config) roleTool(name string) (Delegate, bool) {
	if !c.mayDelegate() {
		return Delegate{}, false
	}
	for _, d := range c.Delegates {
		if d.AsTool != nil && d.AsTool.Name == name {
			return d, true
		}
	}
	return Delegate{}, false
}

func (c Config) tool(name string) (Tool, bool) {
	for _, t := range c.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// Repeatable reports whether a tool may be run again if it is unknown whether it ran.
func (c Config) Repeatable(name string) bool {
	t, _ := c.tool(name)
	return t.ReadOnly || t.Idempotent
}

func (c Config) toolNames() []string {
	var names []string
	for _, t := range Tools(c) {
		names = append(names, t.Name)
	}
	return names
}

// allows reports whether a role has a tool. A role without an Allow list has the built-in ones. Deny also removes a granted tool.
func (r Role) allows(t Tool) bool {
	if slices.ContainsFunc(r.Deny, func(glob string) bool {
		ok, err := path.Match(glob, t.Name)
		return ok || err != nil // a malformed glob denies all tools
	}) {
		return false
	}
	if t.Granted {
		return true
	}
	if r.Allow == nil {
		return t.BuiltIn
	}
	return MatchesAny(r.Allow, t.Name)
}

func (r Role) needsApproval(t Tool) bool {
	if MatchesAny(r.ApprovalTools, t.Name) || t.Approval == ToolApprovalRequired {
		return true
	}
	switch r.Approval {
	case ApproveAlways:
		return true
	case ApproveNever:
		return false
	}
	return !t.ReadOnly && t.Approval != ToolApprovalNotRequired
}

// MatchesAny reports whether a tool's name matches one of the globs. A malformed glob matches nothing.
func MatchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, err := path.Match(glob, name)
		return err == nil && ok
	})
}

func (d Delegate) display() string {
	if d.DisplayName != "" {
		return d.DisplayName
	}
	return d.Name
}

// tool returns the role as a tool. Without an input schema it takes a task.
func (d Delegate) tool() Tool {
	schema := d.AsTool.InputSchema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","required":["task"],"properties":{"task":{"type":"string","description":"What the agent is to do"}}}`)
	}
	description := d.Description
	if description == "" {
		description = fmt.Sprintf("Delegates to the %s agent and returns a summary of its findings.", d.display())
	}
	return Tool{Name: d.AsTool.Name, Description: description, Parameters: schema}
}
