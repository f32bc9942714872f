// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
)

const (
	readLines    = 1000
	maxReadLines = 5000
	maxReadLine  = 2000 // bytes of a single line
)

func (w *Workspace) read(_ context.Context, in toolspec.ReadArgs) (*mcp.CallToolResult, error) {
	path, err := in.Resolve(in.Path)
	if err != nil {
		return nil, err
	}
	data, err := w.root.ReadFile(path, w.limits.FileBytes)
	if err != nil {
		return nil, err
	}
	if fsroot.IsBinary(data) {
		return text(describeBinary(in.Display(path), data)), nil
	}
	if len(data) == 0 {
		return text(fmt.Sprintf("[%s is empty]", in.Display(path))), nil
	}
	lines := bytes.Split(bytes.TrimSuffix(data, []byte{'\n'}), []byte{'\n'})
	first := max(in.Offset, 1)
	if first > len(lines) {
		return nil, fmt.Errorf("offset %d is past the end: %s has %s", first, in.Display(path), plural(len(lines), "line"))
	}
	return w.page(lines, first, limitOr(in.Limit, readLines, maxReadLines)), nil
}

// page returns numbered lines from the given one on, up to the limits.
func (w *Workspace) page(lines [][]byte, first, limit int) *mcp.CallToolResult {
	a := &answer{limit: w.limits.OutputBytes}
	next := first
	for next <= len(lines) && next < first+limit {
		if !a.addLine("%6d\t%s", next, clipLine(lines[next-1])) {
			break
		}
		next++
	}
	if left := len(lines) - next + 1; left > 0 {
		a.addNote("%s more; continue with offset=%d", plural(left, "line"), next)
	}
	return a.result()
}

func clipLine(line []byte) string {
	if len(line) <= maxReadLine {
		return strings.ToValidUTF8(string(line), "\ufffd")
	}
	head := shorten.HeadBytes(string(line), maxReadLine)
	return fmt.Sprintf("%s [... %d more bytes in this line]", strings.ToValidUTF8(head, "\ufffd"), len(line)-len(head))
}

func describeBinary(name string, data []byte) string {
	kind := http.DetectContentType(data)
	hint := "it cannot be shown as text"
	if strings.HasPrefix(kind, "image/") {
		hint = "use read_image to show it"
	}
	return fmt.Sprintf("[%s is a binary file (%s, %s); %s]", name, kind, size(int64(len(data))), hint)
}
