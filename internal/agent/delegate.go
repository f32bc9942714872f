// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/agent/budget"
)

// defaultSpawnRole is the role of a spawned task that does not name one.
const defaultSpawnRole = "general"

func delegateToAgent(s State, c BatchCall) (State, BatchCall) {
	var in delegation
	if err := json.Unmarshal([]byte(c.Arguments), &in); err != nil {
		return s, c.done(ToolFailed, textBadArguments(c.Tool, err))
	}
	spec, problem := in.spec(s.Config)
	if problem != "" {
		return s, c.done(ToolFailed, "Nothing was delegated: "+problem)
	}
	return startGroup(s, c, Group{Style: StyleDelegate}, spec)
}

func spawnAgents(s State, c BatchCall) (State, BatchCall) {
	var in struct {
		Tasks []delegation `json:"tasks"`
		Wait  waitFor      `json:"wait"`
	}
	if err := json.Unmarshal([]byte(c.Arguments), &in); err != nil {
		return s, c.done(ToolFailed, textBadArguments(c.Tool, err))
	}
	if len(in.Tasks) == 0 || len(in.Tasks) > maxFanOut {
		return s, c.done(ToolFailed, fmt.Sprintf(`Nothing was spawned: "tasks" must have 1 to %d entries.`, maxFanOut))
	}
	specs := make([]ChildSpec, len(in.Tasks))
	for i, task := range in.Tasks {
		if task.Role == "" {
			task.Role = defaultSpawnRole
		}
		spec, problem := task.spec(s.Config)
		if problem != "" {
			return s, c.done(ToolFailed, fmt.Sprintf("Nothing was spawned: task %d: %s", i+1, problem))
		}
		specs[i] = spec
	}
	return startGroup(s, c, Group{Style: StyleSpawn, Wait: min(int(in.Wait), len(specs))}, specs...)
}

// waitFor is the number of successes that a fan-out waits for: "all", "any" or a number. Zero means all.
type waitFor int

// UnmarshalJSON accepts "all", "any", a number, or a number as text, because models write all of these.
func (w *waitFor) UnmarshalJSON(data []byte) error {
	text := strings.ToLower(strings.Trim(string(data), `"`))
	switch text {
	case "", "all", "null":
		*w = 0
		return nil
	case "any":
		*w = 1
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return fmt.Errorf(`"wait" must be "all", "any" or a number from 1`)
	}
	*w = waitFor(n)
	return nil
}

// delegateToRole starts a role that is offered as a tool.
func delegateToRole(s State, c BatchCall, role Delegate) (State, BatchCall) {
	spec := ChildSpec{Role: role.Name, Arguments: json.RawMessage(c.Arguments)}
	if len(role.AsTool.InputSchema) == 0 {
		var in struct {
			Task string `json:"task"`
		}
		if jsonInto(c.Arguments, &in) == nil && in.Task != "" {
			spec.Task, spec.Arguments = in.Task, nil
		}
	}
	if tooLong(spec.Task) {
		return s, c.done(ToolFailed, textTooLong("task"))
	}
	return startGroup(s, c, Group{Style: StyleRole}, spec)
}

// runAsTask runs a plain tool of an orchestrator as its own task, so that it can be watched, approved and cancelled.
func runAsTask(s State, c BatchCall) (State, BatchCall) {
	return startGroup(s, c, Group{Style: StyleTool}, ChildSpec{Tool: c.Tool, Arguments: json.RawMessage(c.Arguments)})
}

// continueAgent starts a follow-up task with the history of a finished agent.
func continueAgent(s State, c BatchCall) (State, BatchCall) {
	var in struct {
		SubAgent string `json:"sub_agent"`
		Message  string `json:"message"`
	}
	if err := json.Unmarshal([]byte(c.Arguments), &in); err != nil {
		return s, c.done(ToolFailed, textBadArguments(c.Tool, err))
	}
	if strings.TrimSpace(in.Message) == "" {
		return s, c.done(ToolFailed, `Nothing was started: "message" must say what the agent is to do next.`)
	}
	if tooLong(in.Message) {
		return s, c.done(ToolFailed, textTooLong("message"))
	}
	in.SubAgent = s.Children.currentName(in.SubAgent)
	if i := s.Children.find(in.SubAgent); i >= 0 && s.Children.Live[i].pending() {
		return s, c.done(ToolFailed, fmt.Sprintf("%s is still running: wait for its result, or cancel it with cancel_task.", in.SubAgent))
	}
	role, ok := s.Children.endedRole(in.SubAgent)
	if !ok {
		return s, c.done(ToolFailed, fmt.Sprintf("There is no finished agent %q: use a name from the results that you got, or delegate again.", in.SubAgent))
	}
	if s.Config.isolates(role) {
		return s, c.done(ToolFailed, fmt.Sprintf("%s is isolated and cannot be continued: delegate again.", in.SubAgent))
	}
	return startGroup(s, c, Group{Style: StyleDelegate}, ChildSpec{Role: role, Task: in.Message, ContinueFrom: in.SubAgent})
}

// startGroup starts the children of a tool call. A sub-agent waits for them. An orchestrator continues, except that it waits for
// the results of its tools until another input arrives.
func startGroup(s State, c BatchCall, g Group, specs ...ChildSpec) (State, BatchCall) {
	g.ID, g.Label, g.Trigger, g.Origin = c.ID, c.Tool, s.Turn.InReplyTo, Origin{Thread: s.Thread(), ModelCall: c.ModelCall, Attempt: c.Attempt, Call: c.ID}
	g.At, g.Labels = s.Clock.Now, len(s.Labels)
	if s.SharedSummary != nil && slices.ContainsFunc(specs, func(spec ChildSpec) bool { return spec.Context == ContextSummary }) {
		g.Summary = s.SharedSummary.Text
	}
	for i := range specs {
		specs[i].Name = childName(s.Config.nameBase(), s.Children.Started+1+i)
		specs[i].Inputs = specs[i].Inputs.approved(c.Approved)
	}
	g.Detached = s.Config.Kind == Orchestrator && g.Style != StyleTool
	var template Child
	if s.Config.Kind == Orchestrator {
		t, tool := s.plainTool(c.Tool)
		template = Child{Queued: true, Exclusive: tool && !t.ReadOnly, Reply: c.ModelCall}
	}
	s.Children = s.Children.start(g, s.Posts, specs, template).startQueued()
	if g.Detached {
		return s, c.done(ToolSucceeded, textStarted(specs))
	}
	c.State = CallDelegated
	return s, c
}

// detachRunningTools answers an orchestrator's running tool calls as started. Their results become an input of a later turn.
func (s State) detachRunningTools() State {
	s.Batch, s.Children.Groups = slices.Clone(s.Batch), slices.Clone(s.Children.Groups)
	for i, c := range s.Batch {
		if c.State == CallQueued {
			s.Batch[i] = c.done(ToolFailed, "Not started: a message arrived first. Start it again if it is still needed.")
		}
		if c.State != CallDelegated {
			continue
		}
		s.Children.Groups[s.Children.group(c.ID)].Detached = true
		s.Batch[i] = c.done(ToolSucceeded, textStillRunning(s.Children.members(c.ID)))
	}
	return s
}

// childFinished records the end of a child. When its group is complete, the results become the answer of the waiting tool call or
// an input of a later turn.
func childFinished(s State, f ChildFinished) State {
	if i := s.Children.find(f.Child); i >= 0 && s.Config.isolates(s.Children.Live[i].Role) {
		f.Outcome = f.Outcome.Isolated()
	}
	children, ok := s.Children.finish(f.Child, f.Outcome)
	if !ok {
		return s
	}
	s.Children = children
	s.Usage = s.Usage.Plus(f.Usage)
	s.Budget = s.Budget.Settle(budget.Amount{}, cmp.Or(f.Counted, f.Usage.Amount()))
	s = s.dropAsks(f.Child)
	call := s.Children.Live[s.Children.find(f.Child)].Group
	g := s.Children.group(call)
	s = s.withLabels(f.Outcome.Labels, s.Children.calledTool(g), call)
	if g < 0 {
		s.Children = s.Children.dropEnded()
		return s
	}
	group := s.Children.Groups[g]
	if !s.Children.complete(group) {
		return s
	}
	members := s.Children.members(group.ID)
	if i := s.findCall(group.ID, CallDelegated); i >= 0 && group.Style == StyleReview {
		s.Children = s.Children.closeGroup(g)
		return reviewed(s, i, *members[0].Outcome)
	}
	if i := s.findCall(group.ID, CallDelegated); i >= 0 {
		call := s.Batch[i].done(group.toolOutcome(members), group.resultText(members))
		call.Images = group.images(members)
		if s.Config.Limits.MaxRepeats > 0 {
			call.ResultDigest = group.resultDigest(members)
		}
		s = s.withCall(i, call)
	} else if group.Detached && !group.Dropped {
		s = s.queueResults(group, members)
	}
	s.Children = s.Children.closeGroup(g)
	return s
}

// queueResults queues the results of a group as an input of a later turn. It also detects delegations that repeatedly end with
// the same result: a loop across turns.
func (s State) queueResults(group Group, members []Child) State {
	in := group.input(members)
	count := 0
	if s.Window, count = s.Window.observe(group.resultDigest(members)); count == loopWarnAt && s.Config.Limits.MaxRepeats > 0 {
		in.Text += "\n" + textRepeatWarning(group.Label, count, s.Config.Limits.MaxRepeats)
	}
	s.Inbox = append(slices.Clip(s.Inbox), in)
	if limit := s.Config.Limits.MaxRepeats; limit > 0 && count >= limit && s.Paused == nil {
		s.Window.LimitReached = PausedLoop
	}
	return s
}

func childWaits(s State, f ChildWaits) State {
	i := s.Children.find(f.Child)
	if i < 0 || !s.Children.Live[i].pending() || s.Children.Live[i].Waiting == f.Waiting {
		return s
	}
	s.Children = s.Children.update(i, func(c *Child) { c.Waiting = f.Waiting })
	return s
}

func (c Children) endedRole(name string) (string, bool) {
	if i := c.find(name); i >= 0 {
		return c.Live[i].Role, c.Live[i].Role != ""
	}
	for _, e := range c.Ended {
		if e.Name == name && e.Role != "" {
			return e.Role, true
		}
	}
	return "", false
}
