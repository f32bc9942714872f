// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent/pattern"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/linediff"
	"github.com/nestor-dev/nestor/internal/tool/workspace/edit"
	"github.com/nestor-dev/nestor/internal/view"
)

const (
	// maxChangeLines bounds the lines of a diff that are printed with a decision, and maxChangeColumns each of them. The arguments are
	// always printed in full.
	maxChangeLines   = 60
	maxChangeColumns = 400
)

// changesTimeout is how long a decision waits for the file that a call would replace. Tests on a busy machine extend it.
var changesTimeout = 2 * time.Second

// fileCall is a call of the workspace tool write or patch.
type fileCall struct {
	path, cwd string
	content   string      // of write
	edits     []edit.Edit // of patch
}

// parseFileCall returns the call of write or patch that an ask is about. It reports false for other calls, and for arguments that a diff
// would not show completely or that two programs could read differently.
func parseFileCall(ask view.Ask) (fileCall, bool) {
	known := map[string]string{"write": "content", "patch": "edits"}[ask.Tool]
	texts, others, ok := splitArguments(ask.Arguments, "path", "cwd", known)
	call := fileCall{path: texts["path"], cwd: texts["cwd"], content: texts["content"]}
	_, hasContent := texts["content"]
	switch {
	case !ok || call.path == "" || ask.Truncated:
		return fileCall{}, false
	case ask.Tool == "patch" && len(others) == 1:
		call.edits, ok = parseEdits(others["edits"])
		return call, ok
	}
	return call, hasContent && len(others) == 0
}

// splitArguments returns the arguments that are texts, and the others. It reports false if they are ambiguous, or if one is not in known.
func splitArguments(arguments string, known ...string) (texts map[string]string, others map[string]json.RawMessage, ok bool) {
	texts, ok = pattern.Texts(arguments)
	if !ok || json.Unmarshal([]byte(arguments), &others) != nil {
		return nil, nil, false
	}
	for name := range others {
		if !slices.Contains(known, name) {
			return nil, nil, false
		}
		if _, isText := texts[name]; isText {
			delete(others, name)
		}
	}
	return texts, others, true
}

// parseEdits returns the edits of a call of patch.
func parseEdits(data json.RawMessage) ([]edit.Edit, bool) {
	var all []json.RawMessage
	if json.Unmarshal(data, &all) != nil || len(all) == 0 {
		return nil, false
	}
	edits := make([]edit.Edit, 0, len(all))
	for _, one := range all {
		var options struct {
			All        bool `json:"replace_all"`
			Occurrence int  `json:"occurrence"`
		}
		texts, _, ok := splitArguments(string(one), "old_string", "new_string", "replace_all", "occurrence")
		before, hasOld := texts["old_string"]
		after, hasNew := texts["new_string"]
		if !ok || !hasOld || !hasNew || json.Unmarshal(one, &options) != nil {
			return nil, false
		}
		edits = append(edits, edit.Edit{Old: before, New: after, All: options.All, Occurrence: options.Occurrence})
	}
	return edits, true
}

// apply returns the content of the file after the call.
func (c fileCall) apply(before string) (string, error) {
	if c.edits == nil {
		return c.content, nil
	}
	after, _, err := edit.Apply(before, c.edits)
	return after, err
}

// changesReader reads what calls of write and patch would change.
type changesReader struct {
	s    *session
	now  view.Snapshot
	slow bool // a file could not be read in time
}

// tryRead returns what a call would change, or nothing if that cannot be read in a short time: a decision does not depend on it.
func (r *changesReader) tryRead(ctx context.Context, ask view.Ask) []terminal.ChangeLine {
	if r.slow {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, changesTimeout)
	defer cancel()
	lines, err := r.read(ctx, ask)
	if err != nil {
		r.slow = ctx.Err() != nil
		return nil
	}
	return lines
}

// read returns what a call would change, which is nothing unless it is a call of write or patch.
func (r *changesReader) read(ctx context.Context, ask view.Ask) ([]terminal.ChangeLine, error) {
	call, ok := parseFileCall(ask)
	if !ok {
		return nil, nil
	}
	workspace, caller := r.locate(ask)
	file, err := r.s.history().WorkspaceFile(ctx, workspace, historyv1.WorkspaceFileOptions{Path: call.path, WorkingDir: call.cwd, Agent: caller})
	if err != nil {
		return nil, err
	}
	return describeFileCall(file, call)
}

// locate returns the workspace and the agent of a call, as the history API names them.
func (r *changesReader) locate(ask view.Ask) (workspace, caller string) {
	workspace = historyv1.TranscriptName("AgentChat", ask.Chat)
	if ask.Chat == "" {
		workspace = historyv1.TranscriptName("AgentTask", r.now.RootTask(ask.Task))
	}
	if ask.Call == "" {
		return workspace, historyv1.TranscriptName("AgentTask", ask.Task)
	}
	name := ask.Task
	if task := r.now.Task(ask.Task); task != nil {
		name = view.AgentName(task)
	}
	return workspace, historyv1.TranscriptName("SubAgent", name)
}

func describeFileCall(file *historyv1.WorkspaceFile, call fileCall) ([]terminal.ChangeLine, error) {
	path := terminal.Line(terminal.Exact(file.Path))
	head := func(text string) []terminal.ChangeLine { return []terminal.ChangeLine{{Text: text}} }
	switch {
	case file.State == historyv1.FileText:
		after, err := call.apply(file.Content)
		if err != nil {
			return head(fmt.Sprintf("This would fail now: %s: %s", path, terminal.Line(err.Error()))), nil
		}
		if file.Content == after {
			return head(path + " already has exactly this content: the call changes nothing"), nil
		}
		source := "the current file"
		if !file.Live {
			source = "the file as saved when the workspace stopped"
		}
		return append(head(fmt.Sprintf("Changes of %s, compared with %s", path, source)), diffLines(file.Content, after)...), nil
	case file.State == historyv1.FileMissing && call.edits != nil:
		return head(fmt.Sprintf("This would fail now: there is no file %s", path)), nil
	case file.State == historyv1.FileMissing:
		return append(head("New file "+path), diffLines("", call.content)...), nil
	case call.edits == nil && (file.State == historyv1.FileBinary || file.State == historyv1.FileTooLarge):
		return head(fmt.Sprintf("Replaces %s: %s", path, describeFileState(file))), nil
	}
	return nil, errors.New(describeFileState(file))
}

func diffLines(before, after string) []terminal.ChangeLine {
	var lines []terminal.ChangeLine
	for line := range strings.Lines(linediff.Unified(before, after)) {
		lines = append(lines, terminal.ChangeLine{Text: strings.TrimSuffix(line, "\n"), InDiff: true})
	}
	return lines
}

// printBounded prints the first lines of what a call of a task would change, and how many more there are.
func printBounded(out io.Writer, lines []terminal.ChangeLine, task string) {
	shown := lines[:min(len(lines), maxChangeLines)]
	for _, line := range shown {
		fmt.Fprintln(out, line.Render(maxChangeColumns))
	}
	if more := len(lines) - len(shown); more > 0 {
		fmt.Fprintf(out, "… %d more lines: kubectl nestor approve %s --show\n", more, task)
	}
}
