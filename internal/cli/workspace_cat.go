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
		Short: "Print the current content of a file of a workspace",
		Long: dedent(`
			Print the current content of a text file of a workspace, of at most 1 MiB. PATH is relative to the root of the
			workspace. A workspace that does not run is not started: of a stopped emptyDir, what was kept is printed.
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
	found, err := s.history().WorkspaceFile(ctx, name, historyv1.WorkspaceFileOptions{Path: args[1]})
	if err != nil {
		return err
	}
	if found.State != historyv1.FileText {
		return fmt.Errorf("%s: %s", terminal.Line(args[1]), describeFileState(found))
	}
	if !found.Live && found.ReadTime != nil {
		s.noticef("the workspace is not running; this was kept %s ago", terminal.Since(found.ReadTime.Time, s.now()))
	}
	if !isTerminal(s.Out) {
		_, err = io.WriteString(s.Out, found.Content)
		return err
	}
	for line := range strings.Lines(found.Content) {
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
