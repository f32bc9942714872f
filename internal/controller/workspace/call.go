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

type backend interface {
	// attach starts the workspace of a location if it is not running, and keeps it running until the connection is
	// released. An error is for the model: nothing was run.
	attach(ctx context.Context, p Location, agent string) (*connection, error)
}

// connection is the use of a workspace by one call.
type connection struct {
	session *mcp.Session
	// note, if not empty, is information about the workspace for the model.
	note string
	// cancelOnPodLoss returns a context for the call that is cancelled when the workspace is lost; nil if that cannot
	// happen.
	cancelOnPodLoss func(context.Context) (context.Context, context.CancelFunc)
	// lossMessage returns what happened to the workspace during the call, or "".
	lossMessage func(context.Context) string
	release     func()
}

func (w *Workspaces) backend(p Location) backend {
	if p.Workspace.Directory != nil {
		return w.directories
	}
	return w.pods
}

func (w *Workspaces) call(ctx context.Context, p Location, spec tool.Spec, call tool.Invocation) (tool.Output, error) {
	arguments, err := prefixCwd(p.Cwd, call.Arguments)
	if err != nil {
		return tool.Output{}, err
	}
	call.Arguments = arguments
	v, err := w.backend(p).attach(ctx, p, call.Agent)
	if err != nil {
		return tool.Output{}, err
	}
	defer v.release()
	output, err := v.call(ctx, spec, call)
	if v.note != "" && err == nil {
		output.Text = strings.TrimSpace(output.Text + "\n[" + v.note + "]")
	}
	return output, err
}

// call runs a tool. If the workspace is lost meanwhile, the error describes what happened. It never repeats a call
// that may have had an effect.
func (v *connection) call(ctx context.Context, spec tool.Spec, call tool.Invocation) (tool.Output, error) {
	during, done := ctx, func() {}
	if v.cancelOnPodLoss != nil {
		during, done = v.cancelOnPodLoss(ctx)
	}
	defer done()
	output, err := v.session.Call(during, spec.Name, spec.Repeatable(), call)
	if err == nil || ctx.Err() != nil {
		return output, err
	}
	if during.Err() != nil {
		err = tool.ErrOutcomeUnknown // it was in flight when it was abandoned
	}
	if text := v.lossMessage(ctx); text != "" {
		err = fmt.Errorf("%s (%w)", text, err)
	}
	return output, err
}

// prefixCwd prefixes the cwd of a call with the agent's own directory, so that the agent uses only paths in it. The
// server rejects paths that lead out.
func prefixCwd(cwd string, arguments json.RawMessage) (json.RawMessage, error) {
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
	cwd, err := joinCwd(cwd, named)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(cwd)
	if err != nil {
		return nil, fmt.Errorf("encode cwd: %w", err)
	}
	fields["cwd"] = encoded
	return json.Marshal(fields)
}

// joinCwd returns the cwd of a call of an agent that works in a directory of its own. It does not clean it: the server
// rejects paths that lead out.
func joinCwd(cwd, named string) (string, error) {
	switch {
	case cwd == "":
		return named, nil
	case strings.HasPrefix(named, "/"):
		return "", errors.New("cwd is absolute; use a path relative to your working directory")
	case named == "":
		return cwd, nil
	}
	return cwd + "/" + named, nil
}
