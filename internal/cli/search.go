// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/history"
)

type searchOptions struct {
	all    allNamespaces
	chat   string
	limit  int64
	output format
}

func newSearch(f *Factory) *cobra.Command {
	o := searchOptions{}
	cmd := &cobra.Command{
		Use:   "search WORD...",
		Short: "Find words in the transcripts of chats and tasks",
		Long: dedent(`
			Find words in the transcripts of chats and tasks: in messages, replies, questions, answers, and in the arguments and
			results of tool calls. An entry must contain all words; case and accents do not matter, and a word of three or more
			letters also finds longer words that begin with it.

			The transcripts with the newest match are first, each with its newest three matches. Search needs an operator that runs
			with --ledger-search, and your permission to read the transcripts.
		`),
		Example: dedent(`
			# In the namespace
			kubectl nestor search failed deployment

			# In all namespaces
			kubectl nestor search -A invoice

			# In a chat and everything below it
			kubectl nestor search --chat first release

			# Read on where it was found
			kubectl nestor transcript chat.first --since 41
		`),
		Args: argCount(1, -1, "the words to find"),
		RunE: f.runE(o.run),
	}
	cmd.Flags().StringVar(&o.chat, "chat", "", "Only in this chat and the tasks below it.")
	cmd.Flags().Int64Var(&o.limit, "limit", 20, "Maximum number of transcripts, from 1 to 200.")
	_ = cmd.RegisterFlagCompletionFunc("chat", f.flag(chats))
	o.all.register(cmd)
	o.output.register(cmd)
	return cmd
}

func (o *searchOptions) run(ctx context.Context, s *session, args []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	if o.limit < 1 || o.limit > 200 {
		return usagef("--limit must be from 1 to 200")
	}
	reader := history.NewReader(s.config, s.api, o.all.namespace(s))
	found, more, err := reader.Search(ctx, strings.Join(args, " "), o.chat, o.limit)
	if err != nil {
		return err
	}
	if o.output.value != "" {
		return s.printReport(o.output, map[string]any{"items": found})
	}
	if len(found) == 0 {
		s.noticef("No transcript in %s contains these words.", o.all.place(s))
		return nil
	}
	o.print(s, found)
	if more {
		s.noticef("There are more: add a word, or raise --limit.")
	}
	return nil
}

func (o *searchOptions) print(s *session, found []historyv1.Transcript) {
	table := terminal.Table{Heading: []string{"NAMESPACE", "TRANSCRIPT", "ROLE", "ENTRY", "KIND", "SINCE", "TEXT"}}
	for _, t := range found {
		for _, m := range t.Matches {
			table.Rows = append(table.Rows, []string{
				t.Namespace, t.Name, t.Agent.Role, fmt.Sprintf("#%d", m.Seq), string(m.Kind), terminal.Since(m.Time.Time, s.now()), excerpt(m),
			})
		}
	}
	if !o.all.set {
		table = table.Without(0)
	}
	table.FitLast(s.width(), "ROLE", "SINCE", "KIND").Print(s.humanOutput())
}

func excerpt(m historyv1.Match) string {
	var text strings.Builder
	for _, part := range m.Excerpt {
		clean := terminal.Clean(part.Text)
		if part.Match {
			clean = terminal.Warning.Render(clean)
		}
		text.WriteString(clean)
	}
	return strings.TrimSpace(text.String())
}
