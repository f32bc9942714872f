// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/narrate"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

type waitingOptions struct{ reportOptions }

func newWaiting(f *Factory) *cobra.Command {
	o := waitingOptions{}
	cmd := &cobra.Command{
		Use:   "waiting",
		Short: "List the questions and approvals that wait for a person",
		Long: dedent(`
			List the questions and approvals that wait for a person, the oldest first, with the command that answers each.
		`),
		Example: dedent(`
			# In the namespace
			kubectl nestor waiting

			# In all namespaces
			kubectl nestor waiting -A

			# For scripts: how many approvals wait
			kubectl nestor waiting -o json | jq '[.items[] | select(.kind == "Approval")] | length'
		`),
	}
	return o.report(f, cmd, o.print)
}

func (o *waitingOptions) print(s *session, now view.Snapshot) error {
	rows := waitingRows(now)
	if o.output.value != "" {
		return s.printReport(o.output, map[string]any{"items": rows})
	}
	if len(rows) == 0 {
		s.noticef("Nothing waits for a person in %s.", o.all.place(s))
		return nil
	}
	s.printWaiting(rows, o.all.set)
	return nil
}

// waitingRow is an ask in the output of waiting.
type waitingRow struct {
	Namespace string              `json:"namespace"`
	Kind      v1beta1.WaitingKind `json:"kind"`
	Chat      string              `json:"chat,omitempty"`
	Task      string              `json:"task"`
	Role      string              `json:"role,omitempty"`
	ToolCall  string              `json:"toolCall,omitempty"`
	Tool      string              `json:"tool,omitempty"`
	Text      string              `json:"text"`
	Truncated bool                `json:"truncated,omitempty"`
	StartTime *time.Time          `json:"startTime,omitempty"`
	// ExpireTime is the deadline for a decision.
	ExpireTime time.Time `json:"expireTime,omitzero"`
	// Command resolves the ask.
	Command string `json:"command"`
}

// waitingRows returns everything that waits in a snapshot, the oldest first.
func waitingRows(now view.Snapshot) []waitingRow {
	rows := []waitingRow{}
	for _, part := range now.ByNamespace() {
		for _, a := range part.AllAsks() {
			row := waitingRow{
				Namespace: part.Namespace, Kind: a.Kind, Chat: a.Chat, Task: a.Task, Role: a.Role,
				ToolCall: a.Call, Tool: a.Tool,
				Text: cmp.Or(a.Question, a.Tool+" "+terminal.JSON(a.Arguments)), Truncated: a.Truncated,
				ExpireTime: a.ExpireTime, Command: narrate.Command(a),
			}
			if !a.StartTime.IsZero() {
				row.StartTime = &a.StartTime
			}
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b waitingRow) int { return waitingSince(a).Compare(waitingSince(b)) })
	return rows
}

// waitingSince returns the time of a row; one without a time comes last.
func waitingSince(row waitingRow) time.Time {
	if row.StartTime == nil {
		return time.Unix(1<<40, 0)
	}
	return *row.StartTime
}

func (s *session) printWaiting(rows []waitingRow, namespaces bool) {
	table := terminal.Table{Heading: []string{"NAMESPACE", "TASK", "ROLE", "WAITS FOR", "CALL", "SINCE", "WHAT"}}
	for _, r := range rows {
		since := "-"
		if r.StartTime != nil {
			since = terminal.Since(*r.StartTime, s.now())
		}
		table.Rows = append(table.Rows, []string{
			r.Namespace, r.Task, r.Role, terminal.Warning.Render(string(r.Kind)), terminal.Line(r.ToolCall), since,
			terminal.Fit(terminal.Line(r.Text), noteWidth),
		})
	}
	if !namespaces {
		table = table.Without(0)
	}
	table.FitLast(s.width(), "CALL", "ROLE", "SINCE").Print(s.humanOutput())
	shown := map[string]bool{}
	for _, r := range rows {
		command := r.Command
		if namespaces {
			command += " -n " + r.Namespace
		}
		if !shown[command] {
			shown[command] = true
			fmt.Fprintln(s.ErrOut, "  "+command)
		}
	}
}
