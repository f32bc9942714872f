// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// resultText formats the results of a group for the parent: what the children submitted, never their conversations.
func (g Group) resultText(members []Child) string {
	if g.Style == StyleSpawn {
		return formatSpawnResults(members)
	}
	if len(members) == 0 {
		return ""
	}
	child := members[0]
	switch {
	case g.Style == StyleDelegate:
		return formatDelegateResult(*child.Outcome)
	case child.Outcome.Succeeded():
		return child.Outcome.Result.briefWithData()
	}
	return failureText(*child.Outcome)
}

// toolOutcome returns the outcome of the tool call that started a group.
func (g Group) toolOutcome(members []Child) ToolOutcome {
	succeeded := func(c Child) bool { return !c.pending() && c.Outcome.Succeeded() }
	if slices.ContainsFunc(members, succeeded) {
		return ToolSucceeded
	}
	return ToolFailed
}

// input converts the results of a group to an input of a later turn.
func (g Group) input(members []Child) Input {
	names := make([]string, len(members))
	for i, child := range members {
		names[i] = child.Name
	}
	text := fmt.Sprintf("[Results of task %s (%s)]\n%s", strings.Join(names, ", "), g.Label, g.resultText(members))
	return Input{Kind: InputResults, Text: text, Trigger: g.Trigger, Thread: g.Origin.Thread, Images: g.images(members)}
}

func formatDelegateResult(o Outcome) string {
	status := "completed"
	if !o.Succeeded() {
		status = "failed"
	}
	result := o.Result
	if result == nil {
		result = &Result{}
	}
	out := struct {
		Status    string `json:"status"`
		Error     string `json:"error,omitempty"`
		ErrorKind string `json:"error_kind,omitempty"`
		Result    string `json:"result,omitempty"`
		Summary   string `json:"summary,omitempty"`
		Details   string `json:"details,omitempty"`

		Data json.RawMessage `json:"data,omitempty"`

		FilesModified []string `json:"files_modified,omitempty"`
		FilesCreated  []string `json:"files_created,omitempty"`
		TestsRun      *int     `json:"tests_run,omitempty"`
		TestsPassed   *int     `json:"tests_passed,omitempty"`
		Warnings      []string `json:"warnings,omitempty"`
		Suggestions   []string `json:"suggestions,omitempty"`
		Iterations    int      `json:"iteration_count"`
		Duration      Millis   `json:"duration_ms"`
	}{
		Status: status, Error: o.Error, ErrorKind: snakeCase(string(o.Kind)), Result: result.Text, Summary: result.Summary,
		Details: result.Details, Data: result.Data, FilesModified: result.FilesModified, FilesCreated: result.FilesCreated, TestsRun: result.TestsRun,
		TestsPassed: result.TestsPassed, Warnings: result.Warnings, Suggestions: result.Suggestions, Iterations: o.Iterations, Duration: o.Duration,
	}
	return toJSON(out)
}

// formatSpawnResults formats the results of spawn_agents, in the order of the tasks.
func formatSpawnResults(members []Child) string {
	type success struct {
		Result string          `json:"result"`
		Data   json.RawMessage `json:"data,omitempty"`
	}
	type failure struct {
		Error     string `json:"error"`
		ErrorKind string `json:"error_kind"`
		Partial   string `json:"partial_result,omitempty"`
	}
	type outcome struct {
		Success *success `json:"success,omitempty"`
		Failure *failure `json:"failure,omitempty"`
	}
	type entry struct {
		Agent   string  `json:"agent_id"`
		Task    string  `json:"task"`
		Outcome outcome `json:"outcome"`
	}
	var out struct {
		Results []entry `json:"sub_agent_results"`
	}
	for _, child := range members {
		e := entry{Agent: child.Name, Task: child.Task}
		switch {
		case child.pending():
			e.Outcome.Failure = &failure{Error: "not waited for: enough of the others succeeded", ErrorKind: snakeCase(string(ErrorCancelled))}
		case child.Outcome.Succeeded():
			e.Outcome.Success = &success{Result: child.Outcome.Result.Brief(), Data: child.Outcome.Result.Data}
		default:
			e.Outcome.Failure = &failure{
				Error: child.Outcome.Error, ErrorKind: snakeCase(string(child.Outcome.Kind)), Partial: child.Outcome.Result.Brief(),
			}
		}
		out.Results = append(out.Results, e)
	}
	return toJSON(out)
}

func failureText(o Outcome) string {
	text := fmt.Sprintf("Failed (%s): %s", snakeCase(string(o.Kind)), o.Error)
	if partial := o.Result.Brief(); partial != "" {
		text += "\nPartial result: " + partial
	}
	return text
}

// snakeCase turns TimedOut into timed_out.
func snakeCase(camel string) string {
	var b strings.Builder
	for i, r := range camel {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// toJSON encodes plain data, which cannot fail, without escaping HTML.
func toJSON(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Sprintf(`{"error":%q}`, err.Error())
	}
	return strings.TrimSpace(b.String())
}
