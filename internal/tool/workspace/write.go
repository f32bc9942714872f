// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func writeTool() *mcp.Tool {
	return &mcp.Tool{
		Name: "write",
		Description: "Create a file, or replace all of its content. Missing directories are created and an existing file keeps its permissions. " +
			"To change a part of a file use patch.",
		Annotations: &mcp.ToolAnnotations{Title: "Write a file", IdempotentHint: true, OpenWorldHint: new(bool)},
	}
}

type writeArgs struct {
	location
	Path    string `json:"path" jsonschema:"the file, for example src/main.go"`
	Content string `json:"content" jsonschema:"the whole new content"`
}

func (w *Workspace) write(_ context.Context, in writeArgs) (*mcp.CallToolResult, error) {
	path, err := in.resolve(in.Path)
	if err != nil {
		return nil, err
	}
	if n := int64(len(in.Content)); n > w.limits.FileBytes {
		return nil, fmt.Errorf("content has %s; the limit is %s", size(n), size(w.limits.FileBytes))
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	before := w.replacedText(path)
	created, err := w.root.WriteFile(path, []byte(in.Content))
	if err != nil {
		return nil, err
	}
	verb := "Replaced"
	if created {
		verb = "Created"
	}
	lines := strings.Count(in.Content, "\n")
	if in.Content != "" && !strings.HasSuffix(in.Content, "\n") {
		lines++
	}
	result := text(fmt.Sprintf("%s %s (%s, %s).", verb, in.display(path), plural(lines, "line"), size(int64(len(in.Content)))))
	addDiff(result, before, in.Content)
	return result, nil
}
