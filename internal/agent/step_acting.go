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
		// A recorded result counts, even if the state does not show the start of its call.
		i := s.findCall(f.Call, CallRunning, CallQueued, CallAsked, CallUndecided, CallHeld)
		if i >= 0 && (s.Batch[i].State == CallRunning || s.Batch[i].State == CallQueued || s.Batch[i].inFlight()) {
			done := s.Batch[i].done(f.Outcome, s.Batch[i].withComment(f.Text))
			done.Images = f.Images
			return s.withCall(i, done).withLabels(f.names(), done.Tool, done.ID)
		}
	case Decided:
		if i := s.findUndecided(f.Call); i >= 0 && s.accepts(f, s.Batch[i]) {
			return s.addEditor(f, s.Batch[i]).withCall(i, s.Batch[i].withDecision(s.Config, f)).markHandled(f.Message)
		}
	case Answered:
		if i := s.findAsked(f.Call); i >= 0 {
			answered := s.Batch[i]
			if answered.Input != nil {
				answered = answered.withAnswer(f.Text, f.User, s.Policed)
			} else {
				answered = answered.done(ToolSucceeded, f.Text)
				answered.Images = f.Images
			}
			s = s.withLabels(attachedLabels(f.Labels, f.Images), SourceAnswer, answered.ID)
			return s.withCall(i, answered).addRequester(f.User, f.Unnamed).markHandled(f.Message)
		}
	case ToolAsked:
		return toolAsked(s, f)
	case Restarted:
		for i, c := range s.Batch {
			// An intent in the record counts, even if the state does not show the start of its call.
			mayHaveStarted := c.State == CallRunning || c.State == CallQueued || c.inFlight()
			if mayHaveStarted && slices.Contains(f.Unknown, c.ID) && !s.Config.Repeatable(c.Tool) {
				s = s.withCall(i, c.done(ToolUnknown, textUnknownOutcome))
			}
		}
		return requeueRunning(s.extendWaits().startPolicing(f.Policed), f.OpenCalls)
	}
	return s
}

// markHandled records that a message was handled, so that a repeated delivery is recognised.
func (s State) markHandled(message string) State {
	if message != "" {
		s.Seen = s.Seen.with(message)
	}
	return s
}

// HasHandled reports whether a recent message has answered or decided something, or became part of a turn.
func (s State) HasHandled(message string) bool { return s.Seen.has(message) }

// withDecision records a person's decision. An approved call is held until the other calls of its reply are decided, so that the
// batch continues once.
func (c BatchCall) withDecision(config Config, f Decided) BatchCall {
	c.DecisionUser = f.User
	c.Decisions++
	if !f.Approve {
		return c.denied(config, textDenied(f.Comment))
	}
	c = c.withArguments(f)
	c.State, c.Comment = CallHeld, f.Comment
	c.Approved = append(slices.Clip(c.Approved), c.Verdict.Reasons().Rules...)
	return c
}

// withComment appends the comment of the approving person to the tool's answer.
func (c BatchCall) withComment(text string) string {
	if c.Comment == "" {
		return text
	}
	return text + "\n\nComment of the approver: " + c.Comment
}

// allDecided reports whether there are held calls and no undecided ones.
func (s State) allDecided() bool {
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

// allAnswered reports whether every call of the batch has its answer. Tools of an orchestrator do not block it: when a new input
// has arrived, running tools count as started and the turn ends.
func (s State) allAnswered() bool {
	for _, c := range s.Batch {
		waits := c.State == CallDelegated || c.State == CallQueued && s.waitsForTool(c.ModelCall)
		detachable := s.Config.Kind == Orchestrator && waits && len(s.Inbox) > 0
		if c.State != CallDone && !detachable {
			return false
		}
	}
	return true
}

// endBatch appends the answers to the history in the model's order and continues.
func endBatch(s State) State {
	if slices.ContainsFunc(s.Batch, func(c BatchCall) bool { return c.State == CallDelegated }) {
		return endTurn(s.detachRunningTools().flushBatch(), "", false)
	}
	if s.Config.Kind == ToolRun {
		return endToolRun(s, s.Batch[0])
	}
	if s.ReadingContextFiles {
		return requestModelCall(s.flushBatch())
	}
	batch := s.Batch
	s = s.flushBatch()
	var loop Loop
	var status loopStatus
	s.Loop, loop, status = s.Loop.observe(batch)
	switch status {
	case loopDetected:
		return stopAtLimit(s, ErrorLoopDetected, textLoop(loop))
	case loopSuspected:
		s = s.appendUserText(textLoopWarning(loop))
	}
	return requestModelCall(s)
}

// flushBatch moves the answers of the batch into the history.
func (s State) flushBatch() State {
	s = s.collectAnswered()
	if s.ReadingContextFiles {
		return s.appendFirstMessage()
	}
	for _, c := range s.Batch {
		s.History = s.History.Append(Message{Speaker: ToolSpeaker, Text: c.Answer, Call: c.ID, Outcome: c.Outcome, Images: c.Images, At: s.Clock.Now})
	}
	s.Batch = nil
	return s
}

// abandonBatch answers every open call with a reason, so that the history stays valid for a model.
func abandonBatch(s State, reason string) State {
	s = s.cancelPlanned().collectAnswered()
	answered := s.answered
	s.Batch = slices.Clone(s.Batch)
	for i, c := range s.Batch {
		if c.State != CallDone {
			s.Batch[i] = c.interrupted(s.Config, reason)
		}
	}
	s = s.flushBatch()
	s.answered = answered // the others have no result
	return s
}

func endToolRun(s State, c BatchCall) State {
	if c.Outcome == ToolSucceeded {
		return beginEnd(s, Outcome{Result: &Result{Text: c.Answer, Images: c.Images}})
	}
	return beginEnd(s, Outcome{Kind: ErrorTool, Error: c.Answer})
}

// beginBatch plans the calls of a reply. If a sub-agent submits its result, the other calls of that reply are not made.
func beginBatch(s State, call ModelCall, calls []ToolCall, tasksLeft *int64) State {
	for _, c := range calls {
		if outcome, ok := s.Config.submission(c); ok {
			if s.Config.reviews() && outcome.Succeeded() {
				return beginReview(s, call, calls, c.ID, outcome, tasksLeft)
			}
			return beginEnd(answerSubmission(s, calls, c.ID), outcome)
		}
	}
	var available *int64 // tasksLeft, reduced as calls are planned
	if tasksLeft != nil {
		available = new(int64)
		*available = *tasksLeft
	}
	s.Phase = PhaseActing
	s.Batch = make([]BatchCall, 0, len(calls))
	for _, c := range calls {
		var planned BatchCall
		s, planned = planCall(s, BatchCall{ToolCall: c, ModelCall: call.ID, Attempt: call.Attempt, At: s.Clock.Now}, available)
		s.Batch = append(s.Batch, planned)
	}
	return s
}

// answerSubmission answers the calls of a sub-agent's last reply: a follow-up task may continue its history.
func answerSubmission(s State, calls []ToolCall, id string) State {
	for _, c := range calls {
		call := BatchCall{ToolCall: c, At: s.Clock.Now}.done(ToolFailed, "Not run: you have submitted.")
		if c.ID == id {
			call = call.done(ToolSucceeded, "Submitted.")
		}
		s.Batch = append(s.Batch, call)
	}
	return s.flushBatch()
}

// planCall decides how to handle one call. Some calls change more than themselves: they start children or send messages.
func planCall(s State, c BatchCall, available *int64) (State, BatchCall) {
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
	if s.Config.recalls() && s.Config.looksUp(c.Tool) {
		c.State = CallSought
		return s, c
	}
	if s.Config.startsTasks(c.Tool) {
		return planTasks(s, c, available)
	}
	control, ok := controls[c.Tool]
	switch {
	case ok && s.Policed && s.isJudged(c.Tool):
		c.State = CallQueued
		return s, c
	case ok:
		return control(s, c)
	}
	return s, planTool(s, c)
}

// planTasks plans a call that starts tasks, if it is valid and the limits allow it. An orchestrator's tasks start now, or wait as
// queued children; a sub-agent's wait in the batch, as do all that policies judge. Both count now, because TasksLeft is valid for this reply only.
func planTasks(s State, c BatchCall, available *int64) (State, BatchCall) {
	started, call := s.startTasks(c)
	tasks := int64(started.Children.Started - s.Children.Started)
	if tasks == 0 {
		return s, call
	}
	reserved, ok := s.reserveTasks(tasks, available)
	if !ok {
		return s.refuseTasks(c, tasks)
	}
	if available != nil {
		*available -= tasks
	}
	if s.Config.Kind == Orchestrator && !s.Policed {
		return reserved.startTasks(c)
	}
	c.State = CallQueued
	if s.needApproval(started.Children.Live[len(s.Children.Live):]) {
		c.State = CallUndecided
	}
	return reserved, c
}

func (s State) startTasks(c BatchCall) (State, BatchCall) {
	if control, ok := controls[c.Tool]; ok {
		return control(s, c)
	}
	if role, ok := s.Config.roleTool(c.Tool); ok {
		return delegateToRole(s, c, role)
	}
	return runAsTask(s, c)
}

// planTool plans the call of a plain tool. In a fork, its result may come from the record.
func planTool(s State, c BatchCall) BatchCall {
	if s.Config.recalls() {
		c.State = CallSought
		return c
	}
	return planLiveTool(s, c)
}

// planLiveTool decides whether a plain tool is queued or needs an approval first.
func planLiveTool(s State, c BatchCall) BatchCall {
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
