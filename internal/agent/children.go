// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"slices"
)

// ChildSpec describes a child that must exist: a sub-agent or a tool run.
type ChildSpec struct {
	Name string `json:"name"`
	// Role is set for a sub-agent, Tool for a tool run.
	Role            string          `json:"role,omitempty"`
	Tool            string          `json:"tool,omitempty"`
	Arguments       json.RawMessage `json:"arguments,omitempty"`
	Task            string          `json:"task,omitempty"`
	ContextFiles    []string        `json:"contextFiles,omitempty"`
	SuccessCriteria string          `json:"successCriteria,omitempty"`
	// OutputSchema replaces the one of its role.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Inputs are the inputs by reference of an isolated role.
	Inputs *Inputs `json:"inputs,omitempty"`

	Context      string `json:"context,omitempty"`
	WorkingDir   string `json:"workingDir,omitempty"`
	ContinueFrom string `json:"continueFrom,omitempty"`
	// Group is the id of the tool call that started the child, Trigger the message that caused it.
	Group   string `json:"group,omitempty"`
	Trigger string `json:"trigger,omitempty"`
	// PostsBefore is how many messages the orchestrator had posted before.
	PostsBefore int `json:"postsBefore,omitempty"`
}

// Child is a child that has not ended, or whose group has not reported yet.
type Child struct {
	ChildSpec
	// Waiting reports that it waits for a person.
	Waiting bool `json:"waiting,omitempty"`
	// Queued children start when the calls before them in the same Reply allow it; Exclusive ones may change something. Only an
	// orchestrator has queued children.
	Queued    bool   `json:"queued,omitempty"`
	Exclusive bool   `json:"exclusive,omitempty"`
	Reply     string `json:"reply,omitempty"`
	// Cancel reports that it must stop.
	Cancel bool `json:"cancel,omitempty"`
	// OriginalName is the name that was planned for it and that an unrelated object already had.
	OriginalName string `json:"originalName,omitempty"`
	// Outcome is set once it has ended.
	Outcome *Outcome `json:"outcome,omitempty"`
}

func (c Child) pending() bool { return c.Outcome == nil }

// GroupStyle selects how the results of a group are formatted.
type GroupStyle string

// The formats of results.
const (
	// StyleDelegate: the structured result of one agent.
	StyleDelegate GroupStyle = "delegate"
	// StyleSpawn: the aggregated results of several.
	StyleSpawn GroupStyle = "spawn"
	// StyleRole: the summary of a role that was used as a tool.
	StyleRole GroupStyle = "role"
	// StyleReview: the verdict on a submitted result.
	StyleReview GroupStyle = "review"
	// StyleTool: the result of a tool run.
	StyleTool GroupStyle = "tool"
)

// Group is the children of one tool call, which report together.
type Group struct {
	// ID is the id of the tool call.
	ID    string     `json:"id"`
	Style GroupStyle `json:"style"`
	// Label is the tool that was called.
	Label string `json:"label,omitempty"`
	// Wait is the number of successes to wait for; zero means that all must end.
	Wait int `json:"wait,omitempty"`
	// Detached groups were answered when they started; their results become an input of a later turn.
	Detached bool   `json:"detached,omitempty"`
	Trigger  string `json:"trigger,omitempty"`
	Origin   Origin `json:"origin,omitzero"`
	// At is when the children were requested. Summary is the summary of the conversation for those that receive one.
	At      Time   `json:"time,omitempty"`
	Summary string `json:"summary,omitempty"`
	// Dropped groups belong to work that a person cancelled as a whole; their results are discarded.
	Dropped bool `json:"dropped,omitempty"`
	// Labels is the number of labels that the agent had when it requested the children.
	Labels int `json:"labels,omitempty"`
}

// Children are the delegated tasks of an agent. A started child is pending or completed, and a completed one never becomes
// pending again.
type Children struct {
	Started  int     `json:"started,omitempty"`
	Finished int     `json:"finished,omitempty"`
	Live     []Child `json:"live,omitempty"`
	Groups   []Group `json:"groups,omitempty"`
	// Ended holds the newest children that have ended, for follow-up work.
	Ended []EndedChild `json:"ended,omitempty"`
}

// EndedChild is a child that has ended and whose group has reported.
type EndedChild struct {
	Name         string `json:"name"`
	Role         string `json:"role,omitempty"`
	Succeeded    bool   `json:"succeeded,omitempty"`
	OriginalName string `json:"originalName,omitempty"`
}

// maxEnded bounds the ended children that can be continued by name.
const maxEnded = 256

// Pending returns the number of children that have not ended.
func (c Children) Pending() int { return c.Started - c.Finished }

// RejectsChild reports whether a child must not start: it was cancelled, or has ended for this agent.
func (s State) RejectsChild(child string) bool {
	i := s.Children.find(child)
	if i < 0 {
		return s.Children.hasEnded(child)
	}
	return s.Children.Live[i].Cancel || !s.Children.Live[i].pending()
}

func (c Children) find(name string) int {
	return slices.IndexFunc(c.Live, func(child Child) bool { return child.Name == name })
}

func (c Children) group(id string) int {
	return slices.IndexFunc(c.Groups, func(g Group) bool { return g.ID == id })
}

// calledTool returns the tool whose call started a group, or the source of a group that has reported.
func (c Children) calledTool(g int) string {
	if g < 0 {
		return ToolDelegate
	}
	return c.Groups[g].Label
}

func (c Children) start(group Group, postsBefore int, specs []ChildSpec, template Child) Children {
	live := slices.Clip(c.Live)
	for _, spec := range specs {
		spec.Group, spec.Trigger, spec.PostsBefore = group.ID, group.Trigger, postsBefore
		template.ChildSpec = spec
		live = append(live, template)
	}
	c.Live = live
	c.Groups = append(slices.Clip(c.Groups), group)
	c.Started += len(specs)
	return c
}

func (c Children) update(i int, change func(*Child)) Children {
	c.Live = slices.Clone(c.Live)
	change(&c.Live[i])
	return c
}

// finish records the outcome of a child and reports whether it was pending.
func (c Children) finish(name string, outcome Outcome) (Children, bool) {
	i := c.find(name)
	if i < 0 || !c.Live[i].pending() {
		return c, false
	}
	c = c.update(i, func(child *Child) { child.Outcome, child.Waiting = &outcome, false })
	c.Finished++
	return c.startQueued(), true
}

// cancel marks the pending children that match.
func (c Children) cancel(match func(Child) bool) Children {
	fresh := func(child Child) bool { return child.pending() && !child.Cancel && match(child) }
	if !slices.ContainsFunc(c.Live, fresh) {
		return c
	}
	c.Live = slices.Clone(c.Live)
	for i, child := range c.Live {
		if fresh(child) {
			c.Live[i].Cancel = true
		}
	}
	return c
}

// members returns the children of a group in the order in which they were requested.
func (c Children) members(group string) []Child {
	var members []Child
	for _, child := range c.Live {
		if child.Group == group {
			members = append(members, child)
		}
	}
	return members
}

// complete reports whether a group can report: enough of its children succeeded, or all have ended.
func (c Children) complete(g Group) bool {
	successes, pending := 0, 0
	for _, child := range c.Live {
		switch {
		case child.Group != g.ID:
		case child.pending():
			pending++
		case child.Outcome.Succeeded():
			successes++
		}
	}
	return pending == 0 || (g.Wait > 0 && successes >= g.Wait)
}

func (c Children) allWaiting(group string) bool {
	return !slices.ContainsFunc(c.Live, func(child Child) bool {
		return child.Group == group && child.pending() && !child.Waiting
	})
}

// closeGroup removes a group that has reported. Its pending children are cancelled and stay until they have ended.
func (c Children) closeGroup(g int) Children {
	id := c.Groups[g].ID
	c.Groups = slices.Delete(slices.Clone(c.Groups), g, g+1)
	c = c.cancel(func(child Child) bool { return child.Group == id })
	return c.dropEnded()
}

// dropEnded drops the children that have ended and whose group is gone.
func (c Children) dropEnded() Children {
	var live []Child
	ended := slices.Clip(c.Ended)
	for _, child := range c.Live {
		if child.pending() || c.group(child.Group) >= 0 {
			live = append(live, child)
			continue
		}
		ended = append(ended, EndedChild{Name: child.Name, Role: child.Role, Succeeded: child.Outcome.Succeeded(), OriginalName: child.OriginalName})
	}
	c.Live, c.Ended = live, ended[max(0, len(ended)-maxEnded):]
	return c
}
