// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
)

func (w *Workspace) write(_ context.Context, in toolspec.WriteArgs) (*mcp.CallToolResult, error) {
	path, err := in.Resolve(in.Path)
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
	result := text(fmt.Sprintf("%s %s (%s, %s).", verb, in.Display(path), plural(lines, "line"), size(int64(len(in.Content)))))
	addDiff(result, before, in.Content)
	return result, nil
}
