// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

func newWorkspaceCat(f *Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "cat NAME PATH",
		Short: "Print a workspace file's current content",
		Long: dedent(`
			Print a workspace text file's current content, at most 1 MiB. PATH is relative to the workspace's root. A stopped
			workspace is not started: for an emptyDir, the saved content is printed.
		`),
		Example: dedent(`
			# A file of the workspace of a chat
			kubectl nestor workspace cat review src/main.go
		`),
		Args:              argCount(2, 2, "the name of one chat or task, and a path"),
		ValidArgsFunction: f.firstArg(chats, tasks(anyTask)),
		RunE:              f.runE(printWorkspaceFile),
	}
}

func printWorkspaceFile(ctx context.Context, s *session, args []string) error {
	name, err := s.workspaceName(ctx, args[0])
	if err != nil {
		return err
	}
	file, err := s.history().WorkspaceFile(ctx, name, historyv1.WorkspaceFileOptions{Path: args[1]})
	if err != nil {
		return err
	}
	if file.State != historyv1.FileText {
		return fmt.Errorf("%s: %s", terminal.Line(args[1]), describeFileState(file))
	}
	if !file.Live && file.ReadTime != nil {
		s.noticef("the workspace is not running; this was saved %s ago", terminal.Since(file.ReadTime.Time, s.now()))
	}
	if !isTerminal(s.Out) {
		_, err = io.WriteString(s.Out, file.Content)
		return err
	}
	for line := range strings.Lines(file.Content) {
		fmt.Fprintln(s.humanOutput(), terminal.Clean(strings.TrimSuffix(line, "\n")))
	}
	return nil
}

// describeFileState says why the content of a file is not shown.
func describeFileState(f *historyv1.WorkspaceFile) string {
	switch f.State {
	case historyv1.FileBinary:
		return "the file is not text"
	case historyv1.FileTooLarge:
		return "the file has more than 1 MiB"
	case historyv1.FileMissing:
		return "there is no such file"
	}
	return terminal.Line(f.Message)
}
