// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
	"github.com/nestor-dev/nestor/internal/tool/workspace/shell"
	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
)

type Options struct {
	Root  string
	Token string
	// ReadOnly omits the tools that make changes.
	ReadOnly bool
	// Shell runs bash; nil omits the bash tool.
	Shell *shell.Runner
	// Limits bound the calls; the zero value means DefaultLimits.
	Limits Limits
	// Changes reads and restores the changes of the directory.
	Changes *changes.Tree
	// Restored, if not empty, is a file outside of the directory that exists once the saved changes are restored. Until
	// then, only /healthz and the restoring are served.
	Restored string
	Version  string
	// Logger receives errors that clients must not see; nil discards them.
	Logger *slog.Logger
}

type Workspace struct {
	root   *fsroot.Root
	token  string
	limits Limits
	shell  *shell.Runner
	log    *slog.Logger
	server *mcp.Server
	// changes reads the changes. The file restored exists once the saved changes are restored, under the lock
	// restoring.
	changes   *changes.Tree
	restored  string
	restoring sync.Mutex
	// writing is held while a file is read and written, so that parallel edits of one file are not lost.
	writing sync.Mutex
}

const instructions = "The files of one workspace. Paths are relative to its root; absolute paths and \"..\" are refused. " +
	"Find files with glob, text with grep, a subject with keyword_search; then read. Change files with patch, or write for new ones."

// New opens a workspace. Close releases it.
func New(o Options) (*Workspace, error) {
	if o.Token == "" {
		return nil, errors.New("workspace token is empty; every client must present one")
	}
	root, err := fsroot.Open(o.Root)
	if err != nil {
		return nil, err
	}
	w := &Workspace{root: root, token: o.Token, limits: o.Limits, shell: o.Shell, log: o.Logger, changes: o.Changes, restored: o.Restored}
	if w.limits == (Limits{}) {
		w.limits = DefaultLimits()
	}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	w.server = mcp.NewServer(&mcp.Implementation{Name: "nestor-workspace", Version: o.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	w.server.AddReceivingMiddleware(onlyTools)
	w.addReaders()
	if !o.ReadOnly {
		w.addWriters()
	}
	return w, nil
}

func (w *Workspace) Close() { w.root.Close() }

func (w *Workspace) addReaders() {
	add(w, toolspec.Read(), w.read)
	add(w, toolspec.Ls(), w.ls)
	add(w, toolspec.Glob(), w.glob)
	add(w, toolspec.Grep(), w.grep)
	add(w, toolspec.Keyword(), w.keywordSearch)
	add(w, toolspec.Image(), w.readImage)
}

func (w *Workspace) addWriters() {
	add(w, toolspec.Write(), w.write)
	add(w, toolspec.Patch(), w.patch)
	if w.shell != nil {
		add(w, toolspec.Bash(), w.bash)
	}
}

// add registers a tool. The SDK checks arguments against the schema of In before
// the tool runs.
func add[In any](w *Workspace, tool toolspec.Tool, run func(context.Context, In) (*mcp.CallToolResult, error)) {
	described := &mcp.Tool{Name: tool.Name, Description: tool.Description, InputSchema: tool.Schema, Annotations: &mcp.ToolAnnotations{
		Title: tool.Title, ReadOnlyHint: tool.ReadOnly, IdempotentHint: tool.Idempotent,
	}}
	if !tool.OpenWorld {
		described.Annotations.OpenWorldHint = new(bool) // absent means true
	}
	mcp.AddTool(w.server, described, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (result *mcp.CallToolResult, _ any, err error) {
		// A panic in one call must not end other calls.
		defer func() {
			if fault := recover(); fault != nil {
				w.log.Error("Tool failed", "tool", described.Name, "fault", fault, "stack", string(debug.Stack()))
				result, err = nil, fmt.Errorf("%s failed by a fault of its own; try other arguments or another tool", described.Name)
			}
		}()
		result, err = run(ctx, in)
		return result, nil, err
	})
}
