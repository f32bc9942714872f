// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"slices"
	"strconv"
)

func stepActing(s State, fact Fact) State {
	switch f := fact.(type) {
	case ToolFinished:
		if i := s.findCall(f.Call, CallRunning); i >= 0 {
			return s.withCall(i, s.Batch[i].done(f.Outcome, s.Batch[i].withComment(f.Text)))
		}
	case Decided:
		if i := s.findCall(f.Call, CallUndecided); i >= 0 {
			return s.withCall(i, s.Batch[i].decide(f)).heard(f.Message)
		}
	case Answered:
		if i := s.findCall(f.Call, CallAsked); i >= 0 {
			return s.withCall(i, s.Batch[i].done(ToolSucceeded, f.Text)).heard(f.Message)
		}
	case Restarted:
		for i, c := range s.Batch {
			if c.State == CallRunning && slices.Contains(f.Unknown, c.ID) && !s.Config.repeatable(c.Tool) {
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
			s.Batch[i].State = CallRunning
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
	for _, c := range s.Batch {
		s.History = s.History.Append(Message{Speaker: ToolSpeaker, Text: c.Answer, Call: c.ID, Outcome: c.Outcome, At: s.Clock.Now})
	}
	s.Batch = nil
	return s
}

// abandonBatch answers every open call with a reason, so that the history stays one that a model can be shown.
func abandonBatch(s State, reason string) State {
	s.Batch = slices.Clone(s.Batch)
	for i, c := range s.Batch {
		switch {
		case c.State == CallDone:
		case c.State == CallRunning && !s.Config.repeatable(c.Tool):
			s.Batch[i] = c.done(ToolUnknown, reason+" "+textUnknownOutcome)
		default:
			s.Batch[i] = c.done(ToolFailed, reason)
		}
	}
	return s.flush()
}

func endToolRun(s State, c Call) State {
	if c.Outcome == ToolSucceeded {
		return end(s, Outcome{Result: &Result{Text: c.Answer}})
	}
	return end(s, Outcome{Kind: KindToolError, Error: c.Answer})
}

// beginBatch plans the calls of a reply. A sub-agent that submits has finished: other calls of that reply are not made.
func beginBatch(s State, calls []CallRequest) State {
	for _, c := range calls {
		if outcome, ok := s.Config.submission(c); ok {
			return end(submitted(s, calls, c.ID), outcome)
		}
	}
	s.Phase = PhaseActing
	s.Batch = make([]Call, 0, len(calls))
	for _, c := range calls {
		var planned Call
		s, planned = plan(s, Call{CallRequest: c, Request: "m" + strconv.Itoa(s.Requests), At: s.Clock.Now})
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
func plan(s State, c Call) (State, Call) {
	if !s.Config.Offers(c.Tool) {
		return s, c.done(ToolFailed, textNoSuchTool(c.Tool, s.Config))
	}
	if len(c.Arguments) == 0 {
		c.Arguments = "{}"
	}
	if !isObject(c.Arguments) {
		return s, c.done(ToolFailed, textNotAnObject(c.Tool))
	}
	if control, ok := controls[c.Tool]; ok {
		return control(s, c)
	}
	if role, ok := s.Config.roleTool(c.Tool); ok {
		return delegateTo(s, c, role)
	}
	if s.Config.Kind == Orchestrator {
		return runAsTask(s, c)
	}
	return s, planTool(s, c)
}

// planTool decides whether a plain tool runs at once or after a person's decision.
func planTool(s State, c Call) Call {
	tool, ok := s.Config.tool(c.Tool)
	if !ok {
		return c.done(ToolFailed, textNoSuchTool(c.Tool, s.Config))
	}
	c.State = CallRunning
	if s.Config.Role.needsApproval(tool) {
		c.State = CallUndecided
	}
	return c
}

func isObject(text string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &object) == nil && object != nil
}
