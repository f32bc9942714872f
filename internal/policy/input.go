// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

// Input is a call with what expressions may read.
type Input struct {
	Call      Call
	Agent     Agent
	Labels    []string // the content labels of the agent's context
	Usage     Usage
	Workspace Workspace
	Now       time.Time
	// Unknown are variables and fields whose values are not known, such as the workspace of a deleted chat: the call is a
	// recorded one. A call that is going to be performed has none.
	Unknown []string
}

// Call is the variable call.
type Call struct {
	// Tool is the name that the model sees, and Server the ToolServer that has the tool; empty for other tools.
	Tool, Server string
	// Arguments are the bytes that the tool gets.
	Arguments json.RawMessage
	// ReadOnly reports that the call changes nothing: as the ToolServer object declares, regardless of its server.
	ReadOnly bool
	// Role is the role of the child that the call starts, and Remote reports that this is an agent elsewhere.
	Role   string
	Remote bool
}

// Agent is the variable agent. A person's task of type Tool has no role.
type Agent struct {
	Role, Namespace string
	Depth           int
	// Requesters are the people who requested the work, as far as their names are known.
	Requesters []string
}

// RequestersOf returns agent.requesters: the people who have written to an agent, an empty name if one of them is not known, and the authors
// of its chat or task that are known.
func RequestersOf(users []string, unknown bool, authors []string) []string {
	all := slices.DeleteFunc(slices.Concat(users, authors), func(user string) bool { return user == "" })
	if unknown {
		all = append(all, "")
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Usage is the variable usage: that of the whole tree, with what is reserved for calls in flight.
type Usage struct{ Tokens, CostMicros, Tasks, Writes int64 }

// Workspace is the variable workspace. Its fields are empty without one.
type Workspace struct {
	// Source is Git, PersistentVolumeClaim, EmptyDir or Directory.
	Source string
	// Repository is the URL of a git repository, and Ref what is cloned. Push reports that agents may publish changes.
	Repository, Ref string
	Push            bool
}

// WorkspaceOf describes a workspace.
func WorkspaceOf(w v1beta1.Workspace) Workspace {
	switch {
	case w.Git != nil:
		return Workspace{Source: "Git", Repository: w.Git.URL, Ref: w.Git.Ref, Push: w.Git.Push != nil}
	case w.PersistentVolumeClaim != nil:
		return Workspace{Source: "PersistentVolumeClaim"}
	case w.EmptyDir != nil:
		return Workspace{Source: "EmptyDir"}
	}
	return Workspace{Source: "Directory"}
}

// environment declares the variables: an expression with an unknown field does not compile.
var environment = expr.NewEnvironment(map[string]*cel.Type{
	"call": cel.ObjectType("Call"), "agent": cel.ObjectType("Agent"), "labels": cel.ListType(cel.StringType),
	"usage": cel.ObjectType("Usage"), "workspace": cel.ObjectType("Workspace"), "now": cel.TimestampType,
}, map[string]expr.Object{
	"Call": {
		"tool": cel.StringType, "server": cel.StringType, "arguments": cel.MapType(cel.StringType, cel.DynType),
		"readOnly": cel.BoolType, "target": cel.ObjectType("Target"),
	},
	"Target": {"role": cel.StringType, "remote": cel.BoolType},
	"Agent": {
		"role": cel.StringType, "depth": cel.IntType, "namespace": cel.StringType, "requesters": cel.ListType(cel.StringType),
	},
	"Usage":     {"tokens": cel.IntType, "costMicros": cel.IntType, "tasks": cel.IntType, "writes": cel.IntType},
	"Workspace": {"source": cel.StringType, "repository": cel.StringType, "ref": cel.StringType, "push": cel.BoolType},
})

// variables returns the values of the variables. The error is why the arguments cannot be judged.
func (in Input) variables() (map[string]any, error) {
	arguments, err := decodeArguments(in.Call.Arguments)
	if err != nil {
		return nil, err
	}
	if err := expr.CheckValue(arguments); err != nil {
		return nil, err
	}
	variables := map[string]any{
		"call": map[string]any{
			"tool": in.Call.Tool, "server": in.Call.Server, "arguments": arguments, "readOnly": in.Call.ReadOnly,
			"target": map[string]any{"role": in.Call.Role, "remote": in.Call.Remote},
		},
		"agent": map[string]any{
			"role": in.Agent.Role, "depth": int64(in.Agent.Depth), "namespace": in.Agent.Namespace, "requesters": list(in.Agent.Requesters),
		},
		"labels": list(in.Labels),
		"usage": map[string]any{
			"tokens": in.Usage.Tokens, "costMicros": in.Usage.CostMicros, "tasks": in.Usage.Tasks, "writes": in.Usage.Writes,
		},
		"workspace": map[string]any{
			"source": in.Workspace.Source, "repository": in.Workspace.Repository, "ref": in.Workspace.Ref, "push": in.Workspace.Push,
		},
		"now": in.Now,
	}
	for _, name := range in.Unknown {
		setUnknown(variables, strings.Split(name, "."))
	}
	return variables, nil
}

// setUnknown makes a field, or all fields of an object, unknown.
func setUnknown(fields map[string]any, path []string) {
	object, ok := fields[path[0]].(map[string]any)
	switch {
	case len(path) > 1:
		setUnknown(object, path[1:])
	case !ok:
		fields[path[0]] = expr.Unknown()
	default:
		for name := range object {
			setUnknown(object, []string{name})
		}
	}
}

func list(texts []string) []any {
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return values
}
