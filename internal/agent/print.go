// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"strings"
)

// The String methods below are a stable text form for golden files, logs and scenario tests.

func (e CallModel) String() string {
	text := fmt.Sprintf("call model %s", e.Call)
	if e.Purpose != PurposeTurn {
		text += " for " + string(e.Purpose)
	}
	if e.Attempt > 1 {
		text += fmt.Sprintf(" (attempt %d)", e.Attempt)
	}
	return text
}

func (e RunTool) String() string {
	if e.Input != nil {
		return fmt.Sprintf("run %s %s [%s] again with answer %q and state %s", e.Tool, e.Arguments, e.Call, e.Input.Answer, e.Input.State)
	}
	return fmt.Sprintf("run %s %s [%s]", e.Tool, e.Arguments, e.Call)
}

func (e StartChild) String() string {
	c := e.Child
	var b strings.Builder
	if c.Tool != "" {
		fmt.Fprintf(&b, "start %s: tool %s %s", c.Name, c.Tool, c.Arguments)
	} else {
		fmt.Fprintf(&b, "start %s: %s", c.Name, c.Role)
		if c.Task != "" {
			fmt.Fprintf(&b, " %q", c.Task)
		}
		if len(c.Arguments) > 0 {
			fmt.Fprintf(&b, " %s", c.Arguments)
		}
	}
	for _, detail := range []struct{ label, value string }{
		{"files", strings.Join(c.ContextFiles, ",")}, {"criteria", c.SuccessCriteria}, {"context", c.Context},
		{"inputs", inputTitles(c.Inputs)}, {"cwd", c.WorkingDir}, {"continues", c.ContinueFrom}, {"because of", c.Trigger},
	} {
		if detail.value != "" {
			fmt.Fprintf(&b, " (%s %s)", detail.label, detail.value)
		}
	}
	return b.String()
}

func inputTitles(in *Inputs) string {
	var titles []string
	for _, input := range in.calls() {
		titles = append(titles, input.Tool+" "+input.Arguments)
	}
	return strings.Join(titles, ",")
}

func (e CancelChild) String() string { return "cancel " + e.Child }

func (e CancelRemote) String() string { return "cancel the remote work" }

func (e AskPerson) String() string {
	if e.Kind == AskApproval {
		text := fmt.Sprintf("ask for approval of %s %s [%s]", e.Tool, e.Arguments, e.Call)
		for _, rule := range e.Policy.rules() {
			text += " (" + rule.String() + ")"
		}
		return text
	}
	return fmt.Sprintf("ask %q [%s]", e.Text, e.Call)
}

func (e SendItem) String() string { return e.Item.String() }

func (i Item) String() string {
	switch i.Kind {
	case ItemReply:
		text := fmt.Sprintf("reply to %s [%s]: %q", i.Agent, i.Call, i.Text)
		for _, image := range i.Images {
			text += fmt.Sprintf(" (shows %s)", image)
		}
		return text
	case ItemDecision:
		return fmt.Sprintf("approve %s [%s] for %s by allowance %s", i.Agent, i.Call, i.User, i.Allowance)
	case ItemHandled:
		return fmt.Sprintf("handled %s", i.Message)
	}
	author := "assistant"
	if i.System {
		author = "system"
	}
	text := fmt.Sprintf("post as %s: %q", author, i.Text)
	if i.InReplyTo != "" {
		text += fmt.Sprintf(" (in reply to %s)", i.InReplyTo)
	}
	if i.Name != "" {
		text += fmt.Sprintf(" (named %s)", i.Name)
	}
	if i.Task != "" {
		text += fmt.Sprintf(" (about %s)", i.Task)
	}
	if i.Truncated {
		text += " (truncated)"
	}
	if i.Stopped {
		text += " (stopped)"
	}
	return text
}

func (e ReportOutcome) String() string { return "tell parent: " + e.Outcome.String() }

func (e WakeAt) String() string { return fmt.Sprintf("wake at %d", e.At) }

func (o Outcome) String() string {
	if o.Succeeded() {
		text := fmt.Sprintf("success %q after %d iterations", o.Result.Brief(), o.Iterations)
		if o.Result != nil && len(o.Result.Data) > 0 {
			text += fmt.Sprintf(", data %s", o.Result.Data)
		}
		if o.Result != nil && len(o.Result.Warnings) > 0 {
			text += fmt.Sprintf(", warnings %q", o.Result.Warnings)
		}
		return text
	}
	text := fmt.Sprintf("%s %q after %d iterations", o.Kind, o.Error, o.Iterations)
	if partial := o.Result.Brief(); partial != "" {
		text += fmt.Sprintf(", partial result %q", partial)
	}
	return text
}

func (m Message) String() string {
	text := fmt.Sprintf("%s: %s", m.Speaker, m.Text)
	if m.Call != "" {
		text = fmt.Sprintf("%s[%s]: %s", m.Speaker, m.Call, m.Text)
	}
	for _, c := range m.Calls {
		text += fmt.Sprintf("\n  calls %s %s [%s]", c.Tool, c.Arguments, c.ID)
	}
	for _, item := range m.ReasoningItems {
		text += fmt.Sprintf("\n  keeps reasoning %s", item.Data)
		if item.Call != "" {
			text += fmt.Sprintf(" [%s]", item.Call)
		}
	}
	for _, image := range m.Images {
		text += fmt.Sprintf("\n  shows %s", image)
	}
	return text
}

// String summarises the state of an agent in one line.
func (s State) String() string {
	text := fmt.Sprintf("%s %s, iteration %d", s.Config.Name, s.Stage(), s.Iteration())
	if s.Children.Started > 0 {
		text += fmt.Sprintf(", children %d pending %d completed", s.Children.Pending(), s.Children.Finished)
	}
	if len(s.Inbox) > 0 {
		text += fmt.Sprintf(", %d waiting inputs", len(s.Inbox))
	}
	return text
}

// String summarises the event in one line.
func (e Event) String() string {
	return fmt.Sprintf("%d %s %s", e.At, FactType(e.Fact), toJSON(e.Fact))
}
