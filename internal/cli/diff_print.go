// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/rundiff"
)

// printComparison prints what both runs are, their steps, and the first difference in full.
func (s *session) printComparison(c rundiff.Comparison) {
	out := s.humanOutput()
	sidesTable(c).Print(out)
	fmt.Fprintln(out)
	stepsTable(c).FitLast(s.width()).Print(out)
	fmt.Fprintln(out)
	if c.Same {
		fmt.Fprintln(out, terminal.Good.Render(fmt.Sprintf("The runs are the same: %d steps.", len(c.Rows))))
		return
	}
	printFirstDifference(out, c)
}

// sidesTable shows what describes the runs. Lines that are empty for both are left out.
func sidesTable(c rundiff.Comparison) terminal.Table {
	a, b := c.First, c.Second
	prompt := []string{"prompt", "the same", ""}
	if a.SystemPrompt != b.SystemPrompt {
		prompt = []string{"prompt", "", terminal.Warning.Render("another")}
	}
	table := terminal.Table{Heading: []string{"", a.Transcript, b.Transcript}}
	for _, line := range [][]string{
		{"role", terminal.Line(a.Role), terminal.Line(b.Role)},
		{"model", modelOf(a), modelOf(b)},
		prompt,
		{"phase", terminal.Phase(string(a.Phase)), terminal.Phase(string(b.Phase))},
		{"model calls", strconv.Itoa(a.ModelCalls), strconv.Itoa(b.ModelCalls)},
		{"tool calls", strconv.Itoa(a.ToolCalls), strconv.Itoa(b.ToolCalls)},
		{"tokens", tokensOf(&a.Usage), tokensOf(&b.Usage)},
		{"cost", priceOf(&a.Usage), priceOf(&b.Usage)},
		{"time", timeOf(a), timeOf(b)},
	} {
		if line[1] != "" || line[2] != "" {
			table.Rows = append(table.Rows, line)
		}
	}
	return table
}

func modelOf(s rundiff.Side) string {
	return strings.Trim(terminal.Line(s.ModelProvider)+"/"+terminal.Line(s.Model), "/")
}

func timeOf(s rundiff.Side) string {
	text := durationText(s.DurationMillis)
	if s.WaitedMillis > 0 {
		text += ", " + durationText(s.WaitedMillis) + " of it waiting for a person"
	}
	return text
}

func stepsTable(c rundiff.Comparison) terminal.Table {
	table := terminal.Table{Heading: []string{"", "", "STEP", "TOKENS", "COST", "TIME", "CALL"}}
	for i, row := range c.Rows {
		number, mark := strconv.Itoa(i+1), ""
		if i+1 == c.FirstDifference {
			mark = terminal.Warning.Render("▸")
		}
		if row.Change == rundiff.Same {
			cells := []string{mark, "", number}
			for _, figure := range []func(*rundiff.Step) string{stepTokens, stepCost, stepTime} {
				cells = append(cells, both(figure(row.First), figure(row.Second)))
			}
			table.Rows = append(table.Rows, append(cells, callText(row.First, row.Differs)))
			continue
		}
		for _, side := range []struct {
			sign string
			step *rundiff.Step
		}{{"-", row.First}, {"+", row.Second}} {
			if side.step == nil {
				continue
			}
			cells := []string{mark, side.sign, number, stepTokens(side.step), stepCost(side.step), stepTime(side.step)}
			text := terminal.DiffStyle(side.sign).Render(callText(side.step, row.Differs))
			table.Rows = append(table.Rows, append(cells, text))
			mark, number = "", ""
		}
	}
	return table
}

// both returns a figure of both runs, or one if they are the same.
func both(a, b string) string {
	if a == b {
		return a
	}
	return a + " / " + b
}

func stepTokens(s *rundiff.Step) string {
	if s.Usage == nil {
		return ""
	}
	return tokensOf(s.Usage)
}

func stepCost(s *rundiff.Step) string {
	if s.Usage == nil {
		return ""
	}
	return priceOf(s.Usage)
}

func stepTime(s *rundiff.Step) string {
	if s.Kind != rundiff.StepModelCall && s.Kind != rundiff.StepToolCall && s.Kind != rundiff.StepSummary {
		return ""
	}
	return durationText(s.DurationMillis)
}

func tokensOf(u *rundiff.Usage) string { return terminal.Count(u.Tokens) }

func priceOf(u *rundiff.Usage) string {
	switch {
	case len(u.CostMicros) == 0:
		return terminal.Cost(nil, "")
	case u.UnknownCost:
		return u.CostMicros.String() + "+"
	}
	return u.CostMicros.String()
}

// durationText rounds to what can be compared at a glance.
func durationText(millis int64) string {
	d := time.Duration(millis) * time.Millisecond
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.String()
}

// maxCallText bounds a step in the table, in columns.
const maxCallText = 160

// callText describes a step on one line. Of a call with another result it shows that too.
func callText(s *rundiff.Step, differs []string) string {
	var text string
	switch s.Kind {
	case rundiff.StepToolCall:
		text = "→ " + s.Tool + " " + terminal.JSON(s.Arguments)
		if s.Phase != historyv1.ToolCallSuccess {
			text += "  " + string(s.Phase)
		}
		for _, field := range differs {
			switch field {
			case "decision":
				text += "  decision: " + s.Decision
			case "result":
				text += "  result: " + s.Result
			}
		}
	case rundiff.StepModelCall:
		text = "model: " + cmp.Or(strings.TrimSpace(s.Text), "(no text)")
	default:
		text = strings.ToLower(string(s.Kind)) + ": " + s.Text
	}
	return terminal.Fit(terminal.Line(text), maxCallText)
}

// maxDetail bounds the first difference, in lines of each of its fields.
const maxDetail = 40

func printFirstDifference(out io.Writer, c rundiff.Comparison) {
	row := c.Rows[c.FirstDifference-1]
	fmt.Fprintf(out, "The runs part at step %d: %s.\n", c.FirstDifference, differenceText(row, c))
	for _, field := range row.Differs {
		lines := strings.Split(strings.TrimSuffix(row.Detail(field), "\n"), "\n")
		fmt.Fprintln(out, "\n"+terminal.Bold.Render(field))
		for i, line := range lines {
			if i == maxDetail {
				fmt.Fprintf(out, "  … %d more lines: -o json has all\n", len(lines)-i)
				break
			}
			fmt.Fprintln(out, "  "+terminal.ChangeLine{Text: line, InDiff: true}.Render(0))
		}
	}
	if row.First != nil && row.Second != nil && len(row.First.Children) > 0 {
		for i := range min(len(row.First.Children), len(row.Second.Children)) {
			fmt.Fprintf(out, "\nkubectl nestor diff %s %s\n", terminal.Line(row.First.Children[i]), terminal.Line(row.Second.Children[i]))
		}
	}
}

func differenceText(row rundiff.Row, c rundiff.Comparison) string {
	switch row.Change {
	case rundiff.Removed:
		return fmt.Sprintf("only %s has it, at entry #%d", terminal.Line(c.First.Transcript), row.First.Seq)
	case rundiff.Added:
		return fmt.Sprintf("only %s has it, at entry #%d", terminal.Line(c.Second.Transcript), row.Second.Seq)
	}
	return fmt.Sprintf("%s, at entry #%d of %s and entry #%d of %s", strings.Join(row.Differs, ", "),
		row.First.Seq, terminal.Line(c.First.Transcript), row.Second.Seq, terminal.Line(c.Second.Transcript))
}
