// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rundiff

import (
	"fmt"
	"strings"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/linediff"
)

// Change is how a step of the first run compares with one of the second.
type Change string

// The changes.
const (
	// Same: both runs did the same.
	Same Change = "Same"
	// Changed: both runs did something, and not the same.
	Changed Change = "Changed"
	// Removed: only the first run has the step.
	Removed Change = "Removed"
	// Added: only the second run has the step.
	Added Change = "Added"
)

// Row is a step of either run, or of both.
type Row struct {
	Change Change `json:"change"`
	// Differs has the fields of the steps that differ.
	Differs []string `json:"differs,omitempty"`
	First   *Step    `json:"first,omitempty"`
	Second  *Step    `json:"second,omitempty"`
}

// Comparison is the comparison of two runs.
type Comparison struct {
	// Same means that all steps are the same.
	Same bool `json:"same"`
	// FirstDifference is the number of the row where the runs part, counted from 1.
	FirstDifference int   `json:"firstDifference,omitempty"`
	First           Side  `json:"first"`
	Second          Side  `json:"second"`
	Rows            []Row `json:"rows"`
}

// Side describes one of the runs. What it says is not compared.
type Side struct {
	Transcript    string          `json:"transcript"`
	UID           string          `json:"uid"`
	Role          string          `json:"role,omitempty"`
	ModelProvider string          `json:"modelProvider,omitempty"`
	Model         string          `json:"model,omitempty"`
	SystemPrompt  string          `json:"systemPrompt,omitempty"`
	Phase         historyv1.Phase `json:"phase"`
	ModelCalls    int             `json:"modelCalls"`
	ToolCalls     int             `json:"toolCalls"`
	// Usage is that of the run with everything below it.
	Usage Usage `json:"usage"`
	// DurationMillis is the time from the start to the end, or until now, without the time between the messages of a chat.
	DurationMillis int64 `json:"durationMillis"`
	// WaitedMillis is the part of it in which the run waited for a person.
	WaitedMillis int64 `json:"waitedMillis,omitempty"`
}

// Compare compares two runs.
func Compare(first, second Run) Comparison {
	a, b := steps(first), steps(second)
	c := Comparison{First: sideOf(first, a), Second: sideOf(second, b)}
	pairs := aligner{a: a, b: b, namesA: namesOf(first), namesB: namesOf(second)}
	c.Rows = pairs.rows()
	for i, row := range c.Rows {
		if row.Change != Same {
			c.FirstDifference = i + 1
			break
		}
	}
	c.Same = c.FirstDifference == 0
	return c
}

func sideOf(run Run, steps []Step) Side {
	t := run.Transcript
	side := Side{
		Transcript: t.Name, UID: string(t.Agent.UID), Role: t.Agent.Role, ModelProvider: t.Agent.ModelProvider, Model: t.Agent.Model,
		Phase: t.Status.Phase,
	}
	for _, e := range run.Entries {
		if e.Kind == historyv1.EntryStarted {
			side.SystemPrompt = e.SystemPrompt
		}
	}
	total := &side.Usage
	for _, s := range steps {
		total = total.plus(s.Usage)
		switch s.Kind {
		case StepModelCall, StepSummary:
			side.ModelCalls++
		case StepToolCall:
			side.ToolCalls++
		}
	}
	side.Usage = *total
	for _, s := range run.Segments {
		if s.Kind != historyv1.SegmentIdle {
			side.DurationMillis += lengthOf(s).Milliseconds()
		}
		if s.Kind == historyv1.SegmentUser {
			side.WaitedMillis += lengthOf(s).Milliseconds()
		}
	}
	return side
}

// aligner pairs the steps of two runs.
type aligner struct {
	a, b           []Step
	namesA, namesB childNames
}

// rows returns the steps of both runs in order. Between steps that are the same call, those of the same kind are paired.
func (l aligner) rows() []Row {
	var rows []Row
	var removed, added []Step
	for _, sign := range linediff.Signs(keysOf(l.a, l.namesA), keysOf(l.b, l.namesB)) {
		switch sign {
		case '-':
			removed, l.a = append(removed, l.a[0]), l.a[1:]
		case '+':
			added, l.b = append(added, l.b[0]), l.b[1:]
		default:
			rows = append(rows, l.between(removed, added)...)
			removed, added = nil, nil
			rows = append(rows, l.pair(l.a[0], l.b[0]))
			l.a, l.b = l.a[1:], l.b[1:]
		}
	}
	return append(rows, l.between(removed, added)...)
}

func (l aligner) between(removed, added []Step) []Row {
	var rows []Row
	for len(removed) > 0 || len(added) > 0 {
		switch {
		case len(removed) > 0 && len(added) > 0 && removed[0].Kind == added[0].Kind:
			rows = append(rows, l.pair(removed[0], added[0]))
			removed, added = removed[1:], added[1:]
		case len(removed) > len(added):
			rows = append(rows, Row{Change: Removed, First: &removed[0]})
			removed = removed[1:]
		default:
			rows = append(rows, Row{Change: Added, Second: &added[0]})
			added = added[1:]
		}
	}
	return rows
}

func (l aligner) pair(a, b Step) Row {
	row := Row{Change: Same, First: &a, Second: &b}
	for _, field := range []struct{ name, a, b string }{
		{"text", a.Text, b.Text}, {"tool", a.Tool, b.Tool}, {"arguments", canonical(a.Arguments), canonical(b.Arguments)},
		{"decision", a.Decision, b.Decision}, {"phase", string(a.Phase), string(b.Phase)}, {"result", a.Result, b.Result},
	} {
		if l.namesA.replaceIn(field.a) != l.namesB.replaceIn(field.b) {
			row.Change, row.Differs = Changed, append(row.Differs, field.name)
		}
	}
	return row
}

// keysOf returns what identifies the steps of a run for the alignment: a call with another result is the same call.
func keysOf(steps []Step, names childNames) []string {
	keys := make([]string, len(steps))
	for i, s := range steps {
		keys[i] = fmt.Sprintf("%s\n%s\n%s\n%s", s.Kind, s.Tool, names.replaceIn(canonical(s.Arguments)), names.replaceIn(s.Text))
	}
	return keys
}

// Detail returns the difference of a field of the steps of a row by lines.
func (r Row) Detail(field string) string {
	if r.First == nil || r.Second == nil {
		return ""
	}
	return linediff.Unified(r.First.field(field), r.Second.field(field))
}

func (s Step) field(name string) string {
	text := map[string]string{
		"text": s.Text, "tool": s.Tool, "arguments": indented(s.Arguments), "decision": s.Decision, "phase": string(s.Phase), "result": s.Result,
	}[name]
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
