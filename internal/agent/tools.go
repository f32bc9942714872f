// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
)

// Tools lists the tools that an agent has: those that its role allows, and the control tools that its kind and depth
// allow. This is the only place that decides it; a call of anything else is refused.
func Tools(c Config) []Tool {
	var tools []Tool
	for _, t := range c.Tools {
		if c.Role.allows(t) && !c.reserved(t.Name) {
			tools = append(tools, t)
		}
	}
	return append(tools, c.controlTools()...)
}

// controlTools are the tools that act on the machine itself.
func (c Config) controlTools() []Tool {
	if c.Kind == ToolRun {
		return nil
	}
	var tools []Tool
	if c.mayDelegate() {
		tools = append(tools, delegateTool(c), spawnTool(c))
		for _, d := range c.Delegates {
			if d.AsTool != nil {
				tools = append(tools, d.tool())
			}
		}
	}
	if c.Kind == Orchestrator {
		return append(tools, askUserTool, replyTool, continueTool, cancelTool)
	}
	return append(tools, askUserTool, submitTool, giveUpTool)
}

// mayDelegate says whether role and depth let an agent delegate at all.
func (c Config) mayDelegate() bool { return len(c.Delegates) > 0 && c.Depth < c.MaxDepth }

func (c Config) mayDelegateTo(role string) bool { return slices.Contains(c.delegateNames(), role) }

func (c Config) delegateNames() []string {
	var names []string
	for _, d := range c.Delegates {
		names = append(names, d.Name)
	}
	return names
}

// Offers says whether an agent has a tool, without building the list.
func (c Config) Offers(name string) bool {
	switch name {
	case ToolDelegate, ToolSpawn:
		return c.mayDelegate()
	case ToolAskUser:
		return true
	case ToolSubmit, ToolGiveUp:
		return c.Kind == SubAgent
	case ToolReply, ToolContinue, ToolCancel:
		return c.Kind == Orchestrator
	}
	if _, ok := c.roleTool(name); ok {
		return true
	}
	t, ok := c.tool(name)
	return ok && c.Role.allows(t)
}

// withholds says that a tool exists, but not for this agent.
func (c Config) withholds(name string) bool {
	control := slices.Contains(controlNames, name)
	_, plain := c.tool(name)
	asTool := slices.ContainsFunc(c.Delegates, func(d Delegate) bool { return d.AsTool != nil && d.AsTool.Name == name })
	return (control || plain || asTool) && !c.Offers(name)
}

// SchemaOf returns the JSON schema of the arguments of a plain tool, or of a role as a tool, that the agent has. Control tools check their
// arguments themselves.
func (c Config) SchemaOf(name string) (json.RawMessage, bool) {
	if d, ok := c.roleTool(name); ok {
		return d.tool().Parameters, true
	}
	t, ok := c.tool(name)
	return t.Parameters, ok && !c.reserved(name) && c.Role.allows(t)
}

// startsTasks says that a call of the tool starts tasks: it delegates, or it is a plain tool of an orchestrator.
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

// reserved says that a name belongs to a control tool or a role, whatever a tool server may call its tools.
func (c Config) reserved(name string) bool {
	_, role := c.roleTool(name)
	return role || slices.Contains(controlNames, name)
}

// roleTool finds the role that is offered as a tool of this name.
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

// repeatable says that a tool may be run again when it is not known whether it ran.
func (c Config) repeatable(name string) bool {
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

// allows says whether a role has a tool. A role that does not say has the built-in ones.
func (r Role) allows(t Tool) bool {
	if slices.ContainsFunc(r.Deny, func(glob string) bool {
		ok, err := path.Match(glob, t.Name)
		return ok || err != nil // what cannot be read denies everything rather than nothing
	}) {
		return false
	}
	if r.Allow == nil {
		return t.BuiltIn
	}
	return matchesAny(r.Allow, t.Name)
}

// needsApproval says whether a person must decide about a call of the tool.
func (r Role) needsApproval(t Tool) bool {
	if matchesAny(r.ApprovalTools, t.Name) {
		return true
	}
	switch r.Approval {
	case ApproveAlways:
		return true
	case ApproveNever:
		return false
	}
	return !t.ReadOnly
}

// matchesAny says whether a tool's name fits one of the globs. A malformed glob fits nothing.
func matchesAny(globs []string, name string) bool {
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

// tool is the role as a tool. Without a schema of its own it takes a task.
func (d Delegate) tool() Tool {
	schema := d.AsTool.InputSchema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","required":["task"],"properties":{"task":{"type":"string","description":"What the agent is to do"}}}`)
	}
	description := d.Description
	if description == "" {
		description = fmt.Sprintf("Delegates to the %s agent and returns a summary of what it found.", d.display())
	}
	return Tool{Name: d.AsTool.Name, Description: description, Parameters: schema}
}
