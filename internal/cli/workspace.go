// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

func newWorkspace(f *Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workspace COMMAND",
		Short: "Show and export what agents changed in a workspace",
		Long: dedent(`
			Show and export what agents changed in the workspace of a chat or a standalone task. For a
			stopped workspace, these are the changes that were saved when it stopped.
		`),
		Example: dedent(`
			# What did the agents of a chat change?
			kubectl nestor workspace diff review

			# Apply it to a clone of the repository
			kubectl nestor workspace diff review | git apply
		`),
	}
	return withCommands(cmd, newWorkspaceDiff(f), newWorkspaceFiles(f), newWorkspaceExport(f), newWorkspaceCat(f))
}

func newWorkspaceDiff(f *Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "diff NAME",
		Short: "Print the changes of a workspace as a diff",
		Long: dedent(`
			Print the changes of a workspace as a unified diff. On a terminal it is coloured and at most 1 MiB long. Otherwise it is
			complete, with binary files, so that git apply takes it; for emptyDir it is what a terminal shows.
		`),
		Example: dedent(`
			# The changes of a chat
			kubectl nestor workspace diff review

			# Those of a standalone task, into a clone of the repository
			kubectl nestor workspace diff nightly-1 | git apply
		`),
		Args:              argCount(1, 1, "the name of one chat or task"),
		ValidArgsFunction: f.firstArg(chats, tasks(anyTask)),
		RunE:              f.runE(printWorkspaceDiff),
	}
}

func printWorkspaceDiff(ctx context.Context, s *session, args []string) error {
	name, changes, err := s.workspaceChanges(ctx, args[0])
	if err != nil {
		return err
	}
	if changes.Message != "" {
		s.noticef("%s", terminal.Line(changes.Message))
	}
	if !isTerminal(s.Out) && changes.Source != historyv1.WorkspaceEmptyDir && len(changes.Files) > 0 && !changes.TooLarge {
		digest, err := s.copyArchive(ctx, name, s.Out)
		if err == nil {
			s.noticef("sha256 %s", digest)
		}
		return err
	}
	out := s.humanOutput()
	for line := range strings.Lines(changes.Diff) {
		fmt.Fprintln(out, terminal.DiffStyle(line).Render(terminal.Clean(strings.TrimSuffix(line, "\n"))))
	}
	s.noticeDigest(changes)
	if changes.DiffTruncated {
		s.noticef("the diff is longer than 1 MiB: `kubectl nestor workspace export` has all of it")
	}
	return nil
}

type workspaceFilesOptions struct{ output format }

func newWorkspaceFiles(f *Factory) *cobra.Command {
	o := workspaceFilesOptions{}
	cmd := &cobra.Command{
		Use:   "files NAME",
		Short: "List the changed files of a workspace",
		Long:  "List the changed files of a workspace, with the numbers of added and deleted lines.",
		Example: dedent(`
			# The changed files of a chat
			kubectl nestor workspace files review
		`),
		Args:              argCount(1, 1, "the name of one chat or task"),
		ValidArgsFunction: f.firstArg(chats, tasks(anyTask)),
		RunE:              f.runE(o.run),
	}
	o.output.register(cmd)
	return cmd
}

func (o *workspaceFilesOptions) run(ctx context.Context, s *session, args []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	_, changes, err := s.workspaceChanges(ctx, args[0])
	if err != nil {
		return err
	}
	if o.output.value != "" {
		return s.printReport(o.output, changes)
	}
	if changes.Message != "" {
		s.noticef("%s", terminal.Line(changes.Message))
	}
	if len(changes.Files) == 0 {
		s.noticef("no changes")
		return nil
	}
	table := terminal.Table{Heading: []string{"CHANGE", "LINES", "PATH"}}
	for _, f := range changes.Files {
		path := terminal.Line(f.Path)
		if f.From != "" {
			path += " from " + terminal.Line(f.From)
		}
		lines := "binary"
		if f.Additions != nil && f.Deletions != nil {
			lines = fmt.Sprintf("+%d -%d", *f.Additions, *f.Deletions)
		}
		table.Rows = append(table.Rows, []string{string(f.Change), lines, path})
	}
	table.Print(s.humanOutput())
	s.noticeDigest(changes)
	return nil
}

// noticeDigest prints the digest of the changes, to compare with that of an approval.
func (s *session) noticeDigest(changes *historyv1.WorkspaceChanges) {
	if changes.Digest != "" {
		s.noticef("sha256 %s", terminal.Line(changes.Digest))
	}
}

type workspaceExportOptions struct{ file string }

func newWorkspaceExport(f *Factory) *cobra.Command {
	o := workspaceExportOptions{}
	cmd := &cobra.Command{
		Use:   "export NAME",
		Short: "Write all changes of a workspace to a file",
		Long: dedent(`
			Write all changes of a workspace to a file, or to standard output: a patch for git apply, or a tar for emptyDir.
		`),
		Example: dedent(`
			# The patch of a chat
			kubectl nestor workspace export review -f review.patch

			# The files of a workspace that began empty
			kubectl nestor workspace export report | tar -x -C report
		`),
		Args:              argCount(1, 1, "the name of one chat or task"),
		ValidArgsFunction: f.firstArg(chats, tasks(anyTask)),
		RunE:              f.runE(o.run),
	}
	cmd.Flags().StringVarP(&o.file, "file", "f", "", "File to write, which is replaced; default: standard output.")
	return cmd
}

func (o *workspaceExportOptions) run(ctx context.Context, s *session, args []string) error {
	name, err := s.workspaceName(ctx, args[0])
	if err != nil {
		return err
	}
	if o.file == "" {
		if isTerminal(s.Out) {
			return usagef("name a file with -f, or redirect the output")
		}
		_, err := s.copyArchive(ctx, name, s.Out)
		return err
	}
	file, err := os.Create(o.file)
	if err != nil {
		return err
	}
	digest, err := s.copyArchive(ctx, name, file)
	if err := errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(o.file) // it is incomplete
		return err
	}
	s.noticef("wrote %s", o.file)
	s.noticef("sha256 %s", digest)
	return nil
}

// copyArchive copies all changes, and returns their SHA-256.
func (s *session) copyArchive(ctx context.Context, name string, out io.Writer) (string, error) {
	stream, err := s.history().WorkspaceArchive(ctx, name)
	if err != nil {
		return "", err
	}
	defer func() { _ = stream.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, hash), stream); err != nil {
		return "", fmt.Errorf("read the workspace: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// workspaceChanges returns the changes of the workspace of a chat or task, and their name in the history API.
func (s *session) workspaceChanges(ctx context.Context, arg string) (string, *historyv1.WorkspaceChanges, error) {
	name, err := s.workspaceName(ctx, arg)
	if err != nil {
		return "", nil, err
	}
	changes, err := s.history().WorkspaceChanges(ctx, name)
	return name, changes, err
}

// workspaceName returns the name of a workspace in the history API.
func (s *session) workspaceName(ctx context.Context, name string) (string, error) {
	if _, _, _, whole := historyv1.ParseTranscriptName(name); whole {
		return name, nil
	}
	to, err := s.find(ctx, name)
	if err != nil {
		return "", err
	}
	if to.task == nil {
		return historyv1.TranscriptName("AgentChat", to.name()), nil
	}
	return historyv1.TranscriptName("AgentTask", to.name()), nil
}
