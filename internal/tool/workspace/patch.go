// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool/workspace/edit"
	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
)

func (w *Workspace) patch(_ context.Context, in toolspec.PatchArgs) (*mcp.CallToolResult, error) {
	path, err := in.Resolve(in.Path)
	if err != nil {
		return nil, err
	}
	if err := fsroot.CheckWritable(path); err != nil {
		return nil, err
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	data, err := w.root.ReadFile(path, w.limits.FileBytes)
	if err != nil {
		return nil, err
	}
	if fsroot.IsBinary(data) {
		return nil, fmt.Errorf("%s is a binary file; patch edits text", in.Display(path))
	}
	edits := make([]edit.Edit, 0, len(in.Edits))
	for _, e := range in.Edits {
		edits = append(edits, edit.Edit{Old: e.OldString, New: e.NewString, All: e.ReplaceAll, Occurrence: e.Occurrence})
	}
	content, changes, err := edit.Apply(string(data), edits)
	if err != nil {
		return nil, fmt.Errorf("%s was not changed: %w", in.Display(path), err)
	}
	if n := int64(len(content)); n > w.limits.FileBytes {
		return nil, fmt.Errorf("%s was not changed: it would have %s; the limit is %s",
			in.Display(path), size(n), size(w.limits.FileBytes))
	}
	before := w.replacedText(path)
	if _, err := w.root.WriteFile(path, []byte(content)); err != nil {
		return nil, err
	}
	result := w.describeChanges(in.Display(path), content, changes)
	addDiff(result, before, content)
	return result, nil
}

func (w *Workspace) describeChanges(path, content string, changes []edit.Change) *mcp.CallToolResult {
	a := &answer{limit: w.limits.OutputBytes}
	a.addLine("Patched %s.", path)
	for i, c := range changes {
		a.addLine("Edit %d: %s at %s, -%d +%d lines each.",
			i+1, plural(len(c.Lines), "replacement"), lineList(c.Lines), c.Removed, c.Added)
	}
	// With several edits the line numbers of early ones may have shifted, so the context is shown only for a single
	// one.
	if len(changes) == 1 && len(changes[0].Lines) == 1 {
		writeContext(a, content, changes[0])
	}
	return a.result()
}

func writeContext(a *answer, content string, c edit.Change) {
	const around, most = 2, 40
	lines := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
	first := max(c.Lines[0]-around, 1)
	last := min(c.Lines[0]+max(c.Added, 1)-1+around, len(lines), first+most)
	for n := first; n <= last; n++ {
		a.addLine("%6d\t%s", n, clipLine([]byte(lines[n-1])))
	}
}

func lineList(lines []int) string {
	const most = 20
	numbers := make([]string, 0, most)
	for _, n := range lines[:min(len(lines), most)] {
		numbers = append(numbers, fmt.Sprint(n))
	}
	if len(lines) > most {
		numbers = append(numbers, "...")
	}
	if len(lines) == 1 {
		return "line " + numbers[0]
	}
	return "lines " + strings.Join(numbers, ", ")
}
