// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"slices"
)

func stepActing(s State, fact Fact) State {
	switch f := fact.(type) {
	case ToolFinished:
		// Earlier releases ran the calls of a reply in any order: their logs have results of calls that are queued here.
		if i := s.findCall(f.Call, CallRunning, CallQueued); i >= 0 {
			done := s.Batch[i].done(f.Outcome, s.Batch[i].withComment(f.Text))
			done.Images = f.Images
			return s.withCall(i, done)
		}
	case Decided:
		if i := s.findCall(f.Call, CallUndecided); i >= 0 && f.about(s.Batch[i]) && s.Config.Role.separated(f) {
			return s.withCall(i, s.Batch[i].decide(f)).heard(f.Message)
		}
	case Answered:
		if i := s.findCall(f.Call, CallAsked); i >= 0 {
			return s.withCall(i, s.Batch[i].done(ToolSucceeded, f.Text)).askedBy(f.By, f.Unnamed).heard(f.Message)
		}
	case Restarted:
		for i, c := range s.Batch {
			// A call that is queued here may have begun under an earlier release, which did not order the calls of a reply.
			begun := c.State == CallRunning || c.State == CallQueued
			if begun && slices.Contains(f.Unknown, c.ID) && !s.Config.Repeatable(c.Tool) {
				s = s.withCall(i, c.done(ToolUnknown, textUnknownOutcome))
			}
		}
	}
	return s
}

// heard remembers the message that answered or decided something: whoever delivers it again learns that it was heard.
func (s State) heard(message string) State {
	if message != "" {
		s.Seen = s.Seen.with(message)
	}
	return s
}

// Heard says whether a message has answered or decided something, or was taken into a turn, not long ago.
func (s State) Heard(message string) bool { return s.Seen.has(message) }

// decide books a person's decision. An approved call is held until the others of its reply are decided, so that the
// turn goes on once.
func (c Call) decide(f Decided) Call {
	c.DecidedBy = f.By
	if !f.Approve {
		return c.done(ToolDenied, textDenied(f.Comment))
	}
	c.State, c.Comment = CallHeld, f.Comment
	return c
}

// withComment adds to a tool's answer what the person who approved it wanted the model to know.
func (c Call) withComment(text string) string {
	if c.Comment == "" {
		return text
	}
	return text + "\n\nThe person who approved this call said: " + c.Comment
}

// decided says that approved calls are held and that none is left to decide about.
func (s State) decided() bool {
	held := false
	for _, c := range s.Batch {
		switch c.State {
		case CallUndecided:
			return false
		case CallHeld:
			held = true
		}
	}
	return held
}

func releaseHeld(s State) State {
	s.Batch = slices.Clone(s.Batch)
	for i := range s.Batch {
		if s.Batch[i].State == CallHeld {
			s.Batch[i].State = CallQueued
		}
	}
	return s
}

// answered says that every call of the batch has its answer. An orchestrator does not keep anybody waiting for its
// tools: when something new has arrived, tools that are still running count as started work, and the turn is over.
func (s State) answered() bool {
	for _, c := range s.Batch {
		detachable := s.Config.Kind == Orchestrator && c.State == CallDelegated && len(s.Inbox) > 0
		if c.State != CallDone && !detachable {
			return false
		}
	}
	return true
}

// endBatch puts the answers into the history, in the model's order, and goes on.
func endBatch(s State) State {
	if slices.ContainsFunc(s.Batch, func(c Call) bool { return c.State == CallDelegated }) {
		return endTurn(s.detach().flush(), "")
	}
	if s.Config.Kind == ToolRun {
		return endToolRun(s, s.Batch[0])
	}
	if s.Opening {
		return request(s.flush())
	}
	batch := s.Batch
	s = s.flush()
	loop, verdict := s.Loop.observe(batch)
	s.Loop = loop
	switch verdict {
	case loopDetected:
		return bailOut(s, KindLoopDetected, textLoop(loop))
	case loopSuspected:
		s = s.hear(textLoopWarning(loop))
	}
	return request(s)
}

// flush moves the answers of the batch into the history.
func (s State) flush() State {
	if s.Opening {
		return s.shownFiles()
	}
	for _, c := range s.Batch {
		s.History = s.History.Append(Message{Speaker: ToolSpeaker, Text: c.Answer, Call: c.ID, Outcome: c.Outcome, Images: c.Images, At: s.Clock.Now})
	}
	s.Batch = nil
	return s
}

// abandonBatch answers every open call with a reason, so that the history stays one that a model can be shown.
func abandonBatch(s State, reason string) State {
	s = s.unplanned()
	s.Batch = slices.Clone(s.Batch)
	for i, c := range s.Batch {
		switch {
		case c.State == CallDone:
		case c.State == CallRunning && !s.Config.Repeatable(c.Tool):
			s.Batch[i] = c.done(ToolUnknown, reason+" "+textUnknownOutcome)
		default:
			s.Batch[i] = c.done(ToolFailed, reason)
		}
	}
	return s.flush()
}

func endToolRun(s State, c Call) State {
	if c.Outcome == ToolSucceeded {
		return end(s, Outcome{Result: &Result{Text: c.Answer, Images: c.Images}})
	}
	return end(s, Outcome{Kind: KindToolError, Error: c.Answer})
}

// beginBatch plans the calls of a reply. A sub-agent that submits has finished: other calls of that reply are not made.
func beginBatch(s State, asked Request, calls []CallRequest, tasksLeft *int64) State {
	for _, c := range calls {
		if outcome, ok := s.Config.submission(c); ok {
			return end(submitted(s, calls, c.ID), outcome)
		}
	}
	var room *int64 // what is left of it while the calls are planned
	if tasksLeft != nil {
		room = new(int64)
		*room = *tasksLeft
	}
	s.Phase = PhaseActing
	s.Batch = make([]Call, 0, len(calls))
	for _, c := range calls {
		var planned Call
		s, planned = plan(s, Call{CallRequest: c, Request: asked.ID, Attempt: asked.Attempt, At: s.Clock.Now}, room)
		s.Batch = append(s.Batch, planned)
	}
	return s
}

// submitted answers the calls of a sub-agent's last reply: its history may be the beginning of follow-up work.
func submitted(s State, calls []CallRequest, id string) State {
	for _, c := range calls {
		call := Call{CallRequest: c, At: s.Clock.Now}.done(ToolFailed, "Not run: you have submitted.")
		if c.ID == id {
			call = call.done(ToolSucceeded, "Submitted.")
		}
		s.Batch = append(s.Batch, call)
	}
	return s.flush()
}

// plan decides what becomes of one call. Some calls change more than themselves: they start children or send something.
func plan(s State, c Call, room *int64) (State, Call) {
	if !s.Config.Offers(c.Tool) {
		return s, c.done(ToolFailed, textNoSuchTool(c.Tool, s.Config))
	}
	if c.Problem != "" {
		return s, c.done(ToolFailed, c.Problem)
	}
	if len(c.Arguments) == 0 {
		c.Arguments = "{}"
	}
	if !isObject(c.Arguments) {
		return s, c.done(ToolFailed, textNotAnObject(c.Tool))
	}
	if s.Config.startsTasks(c.Tool) {
		return planTasks(s, c, room)
	}
	if control, ok := controls[c.Tool]; ok {
		return control(s, c)
	}
	return s, planTool(s, c)
}

// planTasks plans a call that starts tasks, if it is a valid one and the limits leave room for it. An orchestrator's tasks
// start at once, or wait as queued children; a sub-agent's wait in the batch. They are charged now in either case: the
// room that the driver found in the tree is there for this reply only.
func planTasks(s State, c Call, room *int64) (State, Call) {
	begun, call := s.delegate(c)
	tasks := int64(begun.Children.Started - s.Children.Started)
	if tasks == 0 {
		return s, call
	}
	charged, ok := s.chargeTasks(tasks, room)
	if !ok {
		return s.refuseTasks(c, tasks)
	}
	if room != nil {
		*room -= tasks
	}
	if s.Config.Kind == Orchestrator {
		return charged.delegate(c)
	}
	c.State = CallQueued
	return charged, c
}

// delegate starts the tasks of a call.
func (s State) delegate(c Call) (State, Call) {
	if control, ok := controls[c.Tool]; ok {
		return control(s, c)
	}
	if role, ok := s.Config.roleTool(c.Tool); ok {
		return delegateTo(s, c, role)
	}
	return runAsTask(s, c)
}

// planTool decides whether a plain tool waits for its turn only, or for a person's decision first.
func planTool(s State, c Call) Call {
	tool, ok := s.Config.tool(c.Tool)
	if !ok {
		return c.done(ToolFailed, textNoSuchTool(c.Tool, s.Config))
	}
	c.State = CallQueued
	if s.Config.Role.needsApproval(tool) {
		c.State = CallUndecided
	}
	return c
}

func isObject(text string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &object) == nil && object != nil
}
