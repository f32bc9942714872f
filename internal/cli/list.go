// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

type listOptions struct{ reportOptions }

func newList(f *Factory) *cobra.Command {
	o := listOptions{reportOptions{output: format{names: true}}}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List chats and standalone tasks",
		Long: dedent(`
			List chats and standalone tasks, one line each: first those that wait for a
			person, then running ones, then the most recently active.

			The last column is the waiting question or call, the reason for missing progress, or the subject.
		`),
		Example: dedent(`
			# In the namespace
			kubectl nestor list

			# In all namespaces
			kubectl nestor list -A

			# The names, for scripts
			kubectl nestor list -o name
		`),
	}
	return o.report(f, cmd, o.print)
}

func (o *listOptions) print(s *session, now view.Snapshot) error {
	runs := listRuns(now)
	switch o.output.value {
	case "name":
		for _, r := range runs {
			fmt.Fprintln(s.Out, resource(r.Kind, r.Name))
		}
		return nil
	case "json", "yaml":
		return s.printReport(o.output, map[string]any{"items": runs})
	}
	if len(runs) == 0 {
		s.noticef("No chats or tasks found in %s; `kubectl nestor new` creates a chat.", o.all.place(s))
		return nil
	}
	s.printRuns(s.humanOutput(), runs, o.all.set)
	return nil
}

// runRow is a chat or a standalone task in the output of list.
type runRow struct {
	Kind         string        `json:"kind"`
	Namespace    string        `json:"namespace"`
	Name         string        `json:"name"`
	Title        string        `json:"title,omitempty"`
	Phase        string        `json:"phase"`
	Role         string        `json:"role,omitempty"`
	Active       int           `json:"active,omitempty"`
	Waiting      int           `json:"waiting,omitempty"`
	Usage        v1beta1.Usage `json:"usage,omitzero"`
	CreationTime time.Time     `json:"creationTime"`
	// ActiveTime is the time of a chat's last message, of a task's end, or else of the creation.
	ActiveTime time.Time `json:"activeTime"`
	// Note is the question or call that waits, the reason why the work makes no progress, or its subject.
	Note string `json:"note,omitempty"`

	run view.Run
}

// listRuns returns the chats and standalone tasks of a snapshot: those that wait for a person first, then those that run, then those that
// were active last.
func listRuns(now view.Snapshot) []runRow {
	runs := []runRow{}
	for _, part := range now.ByNamespace() {
		for _, tree := range buildTrees(part, "") {
			runs = append(runs, newRunRow(part, tree))
		}
	}
	slices.SortStableFunc(runs, func(a, b runRow) int {
		return cmp.Or(a.run.Compare(b.run), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return runs
}

func newRunRow(now view.Snapshot, tree treeNode) runRow {
	r := runRow{Kind: tree.Kind, Namespace: tree.Namespace, Name: tree.Name, Phase: tree.Phase, Role: roleOf(tree), Usage: tree.Usage, CreationTime: tree.CreationTime}
	asks := count(&r, tree)
	about := ""
	if tree.Kind == "AgentChat" {
		if chat := now.Chat(tree.Name); chat != nil {
			r.run, r.Title = view.RunOfChat(chat), view.GivenTitle(chat, chat.Status.Title)
			about = chat.Annotations[v1beta1.AnnotationFirstWords]
		}
		about = cmp.Or(firstMessage(now, tree.Name), about)
	} else if task := now.Task(tree.Name); task != nil {
		r.run, r.Title = view.RunOfTask(task), view.GivenTitle(task, "")
		about = task.Spec.Instruction
		if task.Spec.Arguments != nil && about == "" {
			about = terminal.JSON(task.Spec.Arguments.Raw)
		}
	}
	r.ActiveTime = r.run.ActiveTime.Time
	r.Note = noteOf(treeNode{Waiting: asks, Error: tree.Error, WaitState: tree.WaitState, Progress: tree.Progress})
	r.Note = cmp.Or(r.Note, terminal.Fit(terminal.Line(cmp.Or(r.Title, about)), noteWidth))
	return r
}

// count adds the agents and asks of a tree to a row, and returns the asks.
func count(r *runRow, tree treeNode) []waitingItem {
	asks := slices.Clone(tree.Waiting)
	if tree.Kind == "AgentTask" && !view.Ended(v1beta1.TaskPhase(tree.Phase)) {
		r.Active++
	}
	r.Waiting += len(tree.Waiting)
	for _, child := range tree.Children {
		asks = append(asks, count(r, child)...)
	}
	return asks
}

// firstMessage returns the first message that a person wrote to a chat.
func firstMessage(now view.Snapshot, chat string) string {
	for _, m := range now.Messages {
		if m.Spec.Chat == chat && m.Spec.Role == v1beta1.RoleUser && m.Spec.Content != "" {
			return m.Spec.Content
		}
	}
	return ""
}

func (s *session) printRuns(out io.Writer, runs []runRow, namespaces bool) {
	table := terminal.Table{Heading: []string{"NAMESPACE", "NAME", "KIND", "PHASE", "ACTIVE", "WAITING", "TOKENS", "COST", "AGE", "ABOUT"}}
	for _, r := range runs {
		kind := "task"
		if r.Kind == "AgentChat" {
			kind = "chat"
		}
		waiting := "-"
		if r.Waiting > 0 {
			waiting = terminal.Warning.Render(fmt.Sprint(r.Waiting))
		}
		table.Rows = append(table.Rows, []string{
			r.Namespace, r.Name, kind, terminal.Phase(r.Phase), fmt.Sprint(r.Active), waiting,
			terminal.Count(r.Usage.TotalTokens), terminal.Cost(r.Usage.CostMicros, r.Usage.Currency), terminal.Since(r.CreationTime, s.now()), r.Note,
		})
	}
	if !namespaces {
		table = table.Without(0)
	}
	table.FitLast(s.width(), "COST", "ACTIVE", "TOKENS", "KIND", "AGE").Print(out)
}
