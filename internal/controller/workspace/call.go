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

// host runs one kind of workspace.
type host interface {
	// enter starts the workspace of a place if it does not run, and keeps it running until the visit ends. An error
	// is for the model: nothing was run.
	enter(ctx context.Context, p Place, agent string) (*visit, error)
}

// visit is the use of a workspace by one call.
type visit struct {
	session *mcp.Session
	// note, if not empty, is information about the workspace for the model.
	note string
	// accompany returns a context for the call that is cancelled when the workspace is lost; nil if that cannot
	// happen.
	accompany func(context.Context) (context.Context, context.CancelFunc)
	// lost returns what happened to the workspace during the visit, or "".
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
	output, err := v.call(ctx, spec, call)
	if v.note != "" && err == nil {
		output.Text = strings.TrimSpace(output.Text + "\n[" + v.note + "]")
	}
	return output, err
}

// call runs a tool. If the workspace is lost meanwhile, the error describes what happened. It never repeats a call
// that may have had an effect.
func (v *visit) call(ctx context.Context, spec tool.Spec, call tool.Call) (tool.Output, error) {
	during, done := ctx, func() {}
	if v.accompany != nil {
		during, done = v.accompany(ctx)
	}
	defer done()
	output, err := v.session.Call(during, spec.Name, spec.Repeatable(), call)
	if err == nil || ctx.Err() != nil {
		return output, err
	}
	if during.Err() != nil {
		err = tool.ErrOutcomeUnknown // it was in flight when it was abandoned
	}
	if words := v.lost(ctx); words != "" {
		err = fmt.Errorf("%s (%w)", words, err)
	}
	return output, err
}

// within prefixes the cwd of a call with the agent's own directory, so that the agent needs to know only that. The
// server rejects paths that lead out.
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
			return nil, errors.New("cwd must be a string")
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
