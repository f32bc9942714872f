// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/role"
)

// The tools for runs.
const (
	toolRun    = "run_agent"
	toolStart  = "start_task"
	toolGet    = "get_task"
	toolAnswer = "answer"
	toolCancel = "cancel"
)

// maxWaitSeconds bounds how long get_task waits.
const maxWaitSeconds = 300

type schema = map[string]any

func text(description string) schema {
	return schema{"type": "string", "minLength": 1, "description": description}
}

func object(required []string, properties schema) schema {
	return schema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

var taskProperty = text("The name of the task, from the result of run_agent, start_task or a role's tool")

var startProperties = schema{
	"role":            text("The role of the agent"),
	"instruction":     text("The task for the agent, with all the context that it needs"),
	"arguments":       schema{"type": "object", "description": "The input of a role with an input schema, instead of instruction"},
	"successCriteria": text("When the work is done"),
	"modelProvider":   text("The ModelProvider, instead of the role's"),
	"model":           text("The model, instead of the role's"),
}

type runTool struct {
	name, title, description string
	required                 []string
	properties               schema
	annotations              sdk.ToolAnnotations
}

var runTools = []runTool{
	{
		name: toolRun, title: "Run an agent", required: []string{"role"}, properties: startProperties,
		description: "Starts an agent and returns its result. If the agent asks a person, the call asks the person.",
	},
	{
		name: toolStart, title: "Start a task", required: []string{"role"}, properties: startProperties,
		description: "Starts an agent and returns at once with the name of its task, to be read with get_task. Use it for work that takes longer than a call may.",
	},
	{
		name: toolGet, title: "Read a task", required: []string{"task"}, annotations: sdk.ToolAnnotations{ReadOnlyHint: true},
		description: "Returns the state of a task: its phase, its result, and the question or approval that it waits for. " +
			"With waitSeconds the call asks the person.",
		properties: schema{"task": taskProperty, "waitSeconds": schema{
			"type": "integer", "minimum": 0, "maximum": maxWaitSeconds, "description": "How long to wait until the task ends or waits for a person; by default it returns at once",
		}},
	},
	{
		name: toolAnswer, title: "Answer a question", required: []string{"task", "ask", "answer"}, annotations: sdk.ToolAnnotations{IdempotentHint: true},
		description: "Answers the question that a task waits for, with the words of a person.",
		properties:  schema{"task": taskProperty, "ask": text("The id of the question, from waiting.ask of the task"), "answer": text("The answer")},
	},
	{
		name: toolCancel, title: "Cancel a task", required: []string{"task"}, annotations: sdk.ToolAnnotations{IdempotentHint: true},
		description: "Cancels a task and everything below it.", properties: schema{"task": taskProperty},
	},
}

// outputSchema describes the structured content of every tool.
var outputSchema = json.RawMessage(`{
  "type": "object", "required": ["namespace", "task", "phase"],
  "properties": {
    "namespace": {"type": "string"}, "task": {"type": "string"}, "role": {"type": "string"},
    "phase": {"type": "string", "enum": ["Pending", "Running", "Waiting", "Success", "Failed", "Cancelled"]},
    "answer": {"type": "string"},
    "result": {"type": "object"},
    "error": {"type": "object", "properties": {"kind": {"type": "string"}, "message": {"type": "string"}}},
    "waiting": {"type": "object", "required": ["ask", "kind", "text"], "properties": {
      "ask": {"type": "string"}, "kind": {"type": "string", "enum": ["Question", "Approval"]}, "text": {"type": "string"},
      "tool": {"type": "string"}, "arguments": {"type": "string"}
    }},
    "usage": {"type": "object"},
    "next": {"type": "string"}
  }
}`)

// definition returns the tool for clients. Without a namespace in the path, the tool takes it as an argument, which is
// required unless the caller has a default.
func (t runTool) definition(door place) *sdk.Tool {
	annotations := t.annotations
	return &sdk.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: t.input(door), OutputSchema: outputSchema, Annotations: &annotations,
	}
}

func (t runTool) input(door place) schema {
	properties, required := maps.Clone(t.properties), slices.Clone(t.required)
	if !door.fixed {
		properties["namespace"] = text("The namespace of the run")
		if door.namespace == "" {
			required = append(required, "namespace")
		}
	}
	return object(required, properties)
}

func findRunTool(name string) (runTool, bool) {
	i := slices.IndexFunc(runTools, func(t runTool) bool { return t.name == name })
	if i < 0 {
		return runTool{}, false
	}
	return runTools[i], true
}

// roleInput is the input of a role without an input schema.
var roleInput = json.RawMessage(`{"type":"object","required":["task"],"additionalProperties":false,"properties":{"task":{"type":"string","minLength":1,"description":"What the agent is to do"}}}`)

func roleSchema(r role.Role) json.RawMessage {
	if schema := r.InputSchema(); schema != nil {
		return schema
	}
	return roleInput
}

func roleTool(r role.Role) *sdk.Tool {
	return &sdk.Tool{
		Name: r.AsTool.Name, Title: r.DisplayName, Description: cmp.Or(r.Description, "Runs the agent "+r.Name+" and returns its result."),
		InputSchema: withType(roleSchema(r)), OutputSchema: outputSchema, Annotations: &sdk.ToolAnnotations{},
	}
}

// withType adds the type object to a schema. MCP requires it, and a role may omit it.
func withType(source json.RawMessage) any {
	var object schema
	if json.Unmarshal(source, &object) != nil {
		return schema{"type": "object"}
	}
	object["type"] = "object"
	return object
}

// offered returns the roles that are offered as tools. A role is left out if its tool has the name of a tool for runs
// or of an earlier role's tool.
func offered(all []role.Role) []role.Role {
	var result []role.Role
	for _, r := range all {
		if r.AsTool == nil {
			continue
		}
		_, exists := findRunTool(r.AsTool.Name)
		if exists || slices.ContainsFunc(result, func(other role.Role) bool { return other.AsTool.Name == r.AsTool.Name }) {
			continue
		}
		result = append(result, r)
	}
	return result
}
