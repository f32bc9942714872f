// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// host runs workspaces of some kind.
type host interface {
	// enter starts the workspace of a place, if it does not run, and keeps it running until the visit ends. An error is for
	// the model: nothing was run.
	enter(ctx context.Context, p Place, agent string) (*visit, error)
}

// visit is the use of a workspace by one call.
type visit struct {
	session *mcp.Session
	// note, if there is one, is what the model should know of the workspace beside the call's answer.
	note string
	// lost returns in words what happened to the workspace during the visit, or nothing.
	lost  func(context.Context) string
	leave func()
}

func (w *Workspaces) host(p Place) host {
	if p.Workspace.Directory != nil {
		return w.directories
	}
	return w.pods
}

// call runs a tool in a workspace.
func (w *Workspaces) call(ctx context.Context, p Place, spec tool.Spec, call tool.Call) (tool.Output, error) {
	arguments, err := within(p.Cwd, call.Arguments)
	if err != nil {
		return tool.Output{}, err
	}
	call.Arguments = arguments
	v, err := w.host(p).enter(ctx, p, call.Agent)
	if err != nil {
		return tool.Output{}, err
	}
	defer v.leave()
	output, err := v.session.Call(ctx, spec.Name, spec.Repeatable(), call)
	if err != nil && ctx.Err() == nil {
		if words := v.lost(ctx); words != "" {
			err = fmt.Errorf("%s; the next call starts it again (%w)", words, err)
		}
	}
	if v.note != "" && err == nil {
		output.Text = strings.TrimSpace(output.Text + "\n[" + v.note + "]")
	}
	return output, err
}

// within puts the agent's own directory before the one that a call names, so that an agent that was given a directory works
// there without knowing the rest. The server refuses what leads out.
func within(cwd string, arguments json.RawMessage) (json.RawMessage, error) {
	if cwd == "" {
		return arguments, nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(arguments, &fields); err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	var named string
	if given, ok := fields["cwd"]; ok {
		if err := json.Unmarshal(given, &named); err != nil {
			return nil, errors.New("cwd must be a text")
		}
	}
	if strings.HasPrefix(named, "/") {
		return nil, errors.New("cwd is absolute; use a path relative to your working directory")
	}
	if named != "" {
		cwd += "/" + named
	}
	encoded, err := json.Marshal(cwd)
	if err != nil {
		return nil, fmt.Errorf("encode cwd: %w", err)
	}
	fields["cwd"] = encoded
	return json.Marshal(fields)
}
