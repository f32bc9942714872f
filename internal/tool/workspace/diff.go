// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/linediff"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/workspace/files"
	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
)

// replacedText returns the text that a write replaces, or nil if there is none to compare.
func (w *Workspace) replacedText(path string) *string {
	data, err := w.root.ReadReplaced(path, files.MaxText)
	if err != nil {
		return nil // WriteFile reports the error
	}
	before := string(data)
	return &before
}

// addDiff adds the changes of a call to its result, for people. It adds nothing if nothing changed: the call may repeat
// an interrupted one, and an empty diff would hide the changes of that one.
func addDiff(result *mcp.CallToolResult, before *string, after string) {
	if before == nil || *before == after || len(after) > files.MaxText || !isText(*before) || !isText(after) {
		return
	}
	if diff := linediff.Unified(*before, after); len(diff) <= tool.MaxDiff {
		result.Meta = mcp.Meta{tool.DiffMeta: diff}
	}
}

func isText(content string) bool {
	return utf8.ValidString(content) && !fsroot.IsBinary([]byte(content[:min(len(content), 8000)]))
}
