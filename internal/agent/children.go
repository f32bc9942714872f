// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"slices"
)

// ChildSpec is a child that must exist: an agent's work, or one tool call.
type ChildSpec struct {
	Name string `json:"name"`
	// Role is set for an agent, Tool for a tool run.
	Role      string          `json:"role,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Task is the instruction.
	Task            string   `json:"task,omitempty"`
	ContextFiles    []string `json:"contextFiles,omitempty"`
	SuccessCriteria string   `json:"successCriteria,omitempty"`
	Context         string   `json:"context,omitempty"`
	Cwd             string   `json:"cwd,omitempty"`
	ContinueFrom    string   `json:"continueFrom,omitempty"`
	// Group is shared by the children of one call, Trigger is the message that caused them.
	Group   string `json:"group,omitempty"`
	Trigger string `json:"trigger,omitempty"`
}

// Child is a child that has not ended, or whose group is not settled yet.
type Child struct {
	ChildSpec
	// Waiting says that it waits for a person.
	Waiting bool `json:"waiting,omitempty"`
	// Queued says that it begins when the calls of the same Reply before it let it; an Exclusive one may change something.
	// Only an orchestrator's children are queued.
	Queued    bool   `json:"queued,omitempty"`
	Exclusive bool   `json:"exclusive,omitempty"`
	Reply     string `json:"reply,omitempty"`
	// Cancel says that it must stop.
	Cancel bool `json:"cancel,omitempty"`
	// Formerly is the name that it was meant to have and that somebody else's object had.
	Formerly string `json:"formerly,omitempty"`
	// Outcome is how it ended, once it has.
	Outcome *Outcome `json:"outcome,omitempty"`
}

func (c Child) pending() bool { return c.Outcome == nil }

// GroupStyle is how the results of a group are told.
type GroupStyle string

// How the results of a group are told.
const (
	// StyleDelegate: the structured result of one agent.
	StyleDelegate GroupStyle = "delegate"
	// StyleSpawn: the aggregated results of several.
	StyleSpawn GroupStyle = "spawn"
	// StyleRole: the summary of a role that was used as a tool.
	StyleRole GroupStyle = "role"
	// StyleTool: the answer of a tool run.
	StyleTool GroupStyle = "tool"
)

// Group is the children of one call, whose results are told together.
type Group struct {
	// ID is the call's.
	ID    string     `json:"id"`
	Style GroupStyle `json:"style"`
	// Label is the tool that was called.
	Label string `json:"label,omitempty"`
	// Wait is how many successes are enough; zero: all must end.
	Wait int `json:"wait,omitempty"`
	// Detached groups were answered at once; their results come as an input of a later turn.
	Detached bool   `json:"detached,omitempty"`
	Trigger  string `json:"trigger,omitempty"`
	Origin   Origin `json:"origin,omitzero"`
	// At is when the children were asked for, Digest the summary of the conversation for those that are shown one.
	At     Time   `json:"at,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Dropped groups belong to work that the person cancelled as a whole: nobody is told of their end.
	Dropped bool `json:"dropped,omitempty"`
}

// Children are what an agent has delegated. Every child that was started is pending or completed, and completed ones
// never come back.
type Children struct {
	Started   int     `json:"started,omitempty"`
	Completed int     `json:"completed,omitempty"`
	Live      []Child `json:"live,omitempty"`
	Groups    []Group `json:"groups,omitempty"`
	// Ended remembers the newest children that have ended, for follow-up work.
	Ended []Ended `json:"ended,omitempty"`
}

// Ended is what is remembered of a child whose group is settled.
type Ended struct {
	Name      string `json:"name"`
	Role      string `json:"role,omitempty"`
	Succeeded bool   `json:"succeeded,omitempty"`
	Formerly  string `json:"formerly,omitempty"`
}

// endedSize is how many ended children can still be continued by name.
const endedSize = 256

// Pending counts the children that have not ended.
func (c Children) Pending() int { return c.Started - c.Completed }

// Rejects says whether an agent has no use for a child that begins: it wants the child to stop, or was told that the child has ended.
func (s State) Rejects(child string) bool {
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

// start adds a group and its children.
func (c Children) start(group Group, specs []ChildSpec, like Child) Children {
	live := slices.Clip(c.Live)
	for _, spec := range specs {
		spec.Group, spec.Trigger = group.ID, group.Trigger
		like.ChildSpec = spec
		live = append(live, like)
	}
	c.Live = live
	c.Groups = append(slices.Clip(c.Groups), group)
	c.Started += len(specs)
	return c
}

// update changes one child. It copies, so the old value stays what it was.
func (c Children) update(i int, change func(*Child)) Children {
	c.Live = slices.Clone(c.Live)
	change(&c.Live[i])
	return c
}

// finish books a child's end. An unknown child, or one that has ended already, changes nothing.
func (c Children) finish(name string, outcome Outcome) (Children, bool) {
	i := c.find(name)
	if i < 0 || !c.Live[i].pending() {
		return c, false
	}
	c = c.update(i, func(child *Child) { child.Outcome, child.Waiting = &outcome, false })
	c.Completed++
	return c.admit(), true
}

// cancel marks those children that are pending and match.
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

// members returns the children of a group in the order in which they were asked for.
func (c Children) members(group string) []Child {
	var members []Child
	for _, child := range c.Live {
		if child.Group == group {
			members = append(members, child)
		}
	}
	return members
}

// satisfied says whether a group's results can be told: enough of its children succeeded, or all have ended.
func (c Children) satisfied(g Group) bool {
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

// allWaiting says that every pending child of a call waits for a person.
func (c Children) allWaiting(group string) bool {
	return !slices.ContainsFunc(c.Live, func(child Child) bool {
		return child.Group == group && child.pending() && !child.Waiting
	})
}

// settle removes a group whose results have been told. Those of its children that nobody waited for are cancelled and
// stay until they have ended.
func (c Children) settle(g int) Children {
	id := c.Groups[g].ID
	c.Groups = slices.Delete(slices.Clone(c.Groups), g, g+1)
	c = c.cancel(func(child Child) bool { return child.Group == id })
	return c.forget()
}

// forget drops the children that have ended and belong to no group any more.
func (c Children) forget() Children {
	var live []Child
	ended := slices.Clip(c.Ended)
	for _, child := range c.Live {
		if child.pending() || c.group(child.Group) >= 0 {
			live = append(live, child)
			continue
		}
		ended = append(ended, Ended{Name: child.Name, Role: child.Role, Succeeded: child.Outcome.Succeeded(), Formerly: child.Formerly})
	}
	c.Live, c.Ended = live, ended[max(0, len(ended)-endedSize):]
	return c
}
