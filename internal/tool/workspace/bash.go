// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool/workspace/shell"
	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
)

// maxCommand is slightly less than Linux's limit for one argument.
const maxCommand = 120 << 10

func (w *Workspace) bash(ctx context.Context, in toolspec.BashArgs) (*mcp.CallToolResult, error) {
	if strings.TrimSpace(in.Command) == "" {
		return nil, errors.New("command is empty")
	}
	if strings.ContainsRune(in.Command, 0) {
		return nil, errors.New("command contains a NUL byte")
	}
	if len(in.Command) > maxCommand {
		return nil, fmt.Errorf("command has %s; the limit is %s: write it to a file and run that", size(int64(len(in.Command))), size(maxCommand))
	}
	path, err := in.Resolve("")
	if err != nil {
		return nil, err
	}
	dir, err := w.root.OpenDir(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	limit := w.limits.ShellTime
	if in.TimeoutSeconds > 0 {
		limit = min(time.Duration(in.TimeoutSeconds)*time.Second, w.limits.MaxShellTime)
	}
	result, err := w.shell.Run(ctx, dir.File(), in.Command, limit)
	if err != nil {
		return nil, err
	}
	return describeCommand(result, limit), nil
}

// describeCommand returns the output and the exit status. A failed command is marked as an error, with its output.
func describeCommand(r shell.Result, limit time.Duration) *mcp.CallToolResult {
	ended := fmt.Sprintf("exit code %d", r.ExitCode)
	switch {
	case r.Cancelled:
		ended = "cancelled; all processes of the command were ended"
	case r.TimedOut:
		ended = fmt.Sprintf("ended after the time limit of %s with all processes of the command; ask for a longer timeout_seconds or do less", limit)
	case r.ExitCode < 0:
		ended = "the command's supervisor was killed"
	}
	output := strings.TrimSuffix(r.Output, "\n")
	if output == "" {
		output = "[no output]"
	}
	result := text(fmt.Sprintf("%s\n[%s, %s]", output, ended, r.Duration.Round(time.Millisecond)))
	result.IsError = r.ExitCode != 0 || r.TimedOut || r.Cancelled
	return result
}
