// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

const referenceHead = `# Conditions and reasons

Generated from [conditions.yaml](../../api/v1beta1/conditions.yaml) by ` + "`make generate`" + `.

Programs read conditions; phases are for people. Conditions whose good status is False exist, except for ` + "`ToolsChanged`" + `, only while
something is wrong, so that kstatus, Flux and Argo CD understand them. [GitOps](../tasks/gitops.md#health) has what these tools show.

## Conditions

| condition | good | kinds | meaning | present |
|---|---|---|---|---|
`

const reasonsHead = `
## Reasons

**Stalled** marks the reasons that also set the condition ` + "`Stalled`" + `: a person must act. The other columns show what Argo CD displays, what
` + "`kubectl nestor doctor`" + ` reports, and the type of the Event of chats, tasks, roles, providers and tool servers; a cancelled task has a Normal one.
The message of a condition names the objects.

`

// reference returns the page of the conditions and reasons.
func reference(t table) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, c := range t.Conditions {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", c.Type, c.Polarity, strings.Join(c.Kinds, ", "), c.Meaning, c.Present)
	}
	b.WriteString(reasonsHead)
	b.WriteString("| group | meaning | Stalled | Argo CD | doctor | Event |\n|---|---|---|---|---|---|\n")
	for _, g := range t.Groups {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", g.Group, g.Title, yes(g.Stalled), g.Argo, g.Doctor, g.Event)
	}
	for _, g := range t.Groups {
		var rows strings.Builder
		for _, r := range t.Reasons {
			if r.Group == g.Group {
				fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", r.Reason, t.places(r), explanation(r))
			}
		}
		if rows.Len() > 0 {
			fmt.Fprintf(&b, "\n### %s\n\n| reason | condition | meaning and what to do |\n|---|---|---|\n%s", g.Title, rows.String())
		}
	}
	return b.String()
}

// places returns the statuses of conditions that have a reason.
func (t table) places(r reason) string {
	var list []string
	for _, s := range t.states(r) {
		place := fmt.Sprintf("%s %s: %s", s.condition, s.status, strings.Join(s.kinds, ", "))
		if s.group.Group != r.Group {
			place += " (" + s.group.Group + ")"
		}
		list = append(list, place)
	}
	return strings.Join(list, "<br>")
}

func explanation(r reason) string {
	text := strings.TrimSpace(r.Text + " " + r.Todo)
	if r.See != "" {
		text += " [More](../" + r.See + ")"
	}
	return text
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}
