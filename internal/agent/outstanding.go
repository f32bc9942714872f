// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "fmt"

// Outstanding lists the effects that must be in flight, derived from the state alone. A driver that has just started
// performs all of them; a running one performs those that a step adds and stops those in flight that are no longer
// listed.
func Outstanding(s State) []Effect {
	effects := s.ownEffects()
	for _, child := range s.Children.Live {
		if effect := child.effect(); effect != nil {
			effects = append(effects, effect)
		}
	}
	return effects
}

// ownEffects returns the effects that are not about children.
func (s State) ownEffects() []Effect {
	var effects []Effect
	if call := s.ModelCall; s.Phase == PhaseRequesting && call.RetryTime == 0 {
		effects = append(effects, CallModel{
			Call: call.ID, Attempt: call.Attempt, Purpose: call.Purpose, Reserve: call.Reserved,
		})
	}
	if s.Phase == PhaseActing {
		effects = append(effects, s.callEffects()...)
	}
	if s.Phase == PhaseCancelling && s.RemoteOpen {
		effects = append(effects, CancelRemote{})
	}
	if at, ok := s.nextWake(); ok {
		effects = append(effects, WakeAt{At: at})
	}
	for _, item := range s.Outbox {
		effects = append(effects, SendItem{Item: item})
	}
	if s.Phase.Terminal() {
		effects = append(effects, ReportOutcome{Outcome: *s.Outcome})
	}
	return effects
}

func (s State) callEffects() []Effect {
	var effects []Effect
	for _, c := range s.Batch {
		switch c.State {
		case CallRunning:
			if s.WaitsForStartPublished() {
				continue
			}
			effects = append(effects, c.runEffect())
		case CallUndecided, CallAsked:
			if c.State == CallAsked || !s.needsVerdict(c) {
				effects = append(effects, s.askEffect(c))
			}
		}
		// A call that asked a person while it ran continues to run, so both effects are outstanding.
		if c.inFlight() && !c.Unverified {
			effects = append(effects, c.runEffect())
		}
	}
	return effects
}

// ToolCalls returns the effect of every tool call of the batch, whether or not it is outstanding.
func ToolCalls(s State) []RunTool {
	effects := make([]RunTool, len(s.Batch))
	for i, c := range s.Batch {
		effects[i] = c.runEffect()
	}
	return effects
}

func (s State) askEffect(c BatchCall) AskPerson {
	if c.State == CallUndecided {
		return AskPerson{
			Call: c.ApprovalID(), Kind: AskApproval, Tool: c.Tool, Arguments: c.Arguments, Policy: c.policy(),
			ExpireTime: c.ExpireTime, Timeout: s.Config.Role.ApprovalTimeout, Editable: s.IsEditable(c),
			DenyRequesters: s.DeniesRequesters(c), AllowServiceAccounts: s.Config.Role.AllowServiceAccounts,
		}
	}
	return AskPerson{Call: c.askID(), Kind: AskQuestion, Text: c.askText(), OfTool: c.Input != nil}
}

// PendingAsks returns the asks of an agent that wait for a person.
func PendingAsks(s State) []AskPerson {
	var asks []AskPerson
	for _, c := range s.Batch {
		if s.Phase == PhaseActing && (c.State == CallAsked || c.State == CallUndecided && !s.needsVerdict(c)) {
			asks = append(asks, s.askEffect(c))
		}
	}
	return asks
}

// effect returns the effect that the child needs: its start, its cancellation, or nil.
func (c Child) effect() Effect {
	switch {
	case !c.pending():
		return nil
	case c.Cancel:
		return CancelChild{Child: c.Name}
	case c.Queued:
		return nil
	}
	return StartChild{Child: c.ChildSpec}
}

// nextWake returns when the state next changes without another event: a retry is due, the deadline is reached, or an
// approval expires.
func (s State) nextWake() (Time, bool) {
	at, ok := s.deadline()
	if expiry, expires := s.nextExpiry(); expires && (!ok || expiry < at) {
		at, ok = expiry, true
	}
	if s.Phase == PhaseRequesting && s.ModelCall.RetryTime > 0 && (!ok || s.ModelCall.RetryTime < at) {
		return s.ModelCall.RetryTime, true
	}
	return at, ok
}

// deadline returns when the time limit of an active agent is reached. The call for a partial answer has no deadline;
// the driver's timeout of a model call bounds it.
func (s State) deadline() (Time, bool) {
	working := s.Phase == PhaseRequesting || s.Phase == PhaseActing
	if !working || s.LimitReached != nil || s.Config.Limits.MaxDuration == 0 || s.Suspended() {
		return 0, false
	}
	return s.Clock.deadline(s.Config.Limits.MaxDuration), true
}

// newEffects returns the effects that are outstanding now and were not before.
func newEffects(before, now State) []Effect {
	effects := addedEffects(before.ownEffects(), now.ownEffects())
	// Two-pointer merge: children keep their order, and there may be very many.
	old := before.Children.Live
	for _, child := range now.Children.Live {
		for len(old) > 0 && old[0].Name != child.Name && now.Children.find(old[0].Name) < 0 {
			old = old[1:]
		}
		unchanged := false
		if len(old) > 0 && old[0].Name == child.Name {
			unchanged = old[0].pending() && old[0].Cancel == child.Cancel && old[0].Queued == child.Queued
			old = old[1:]
		}
		if effect := child.effect(); effect != nil && !unchanged {
			effects = append(effects, effect)
		}
	}
	return effects
}

func addedEffects(before, now []Effect) []Effect {
	oldKeys := make(map[string]bool, len(before))
	for _, e := range before {
		oldKeys[e.Key()] = true
	}
	var effects []Effect
	for _, e := range now {
		if !oldKeys[e.Key()] {
			effects = append(effects, e)
		}
	}
	return effects
}

func (e CallModel) Key() string { return fmt.Sprintf("model/%s/%d", e.Call, e.Attempt) }

// Key identifies the tool call, the reply that contains it, the round and the repetition.
func (e RunTool) Key() string {
	key := "tool/" + e.ModelCall + "/" + e.Call
	if e.Round > 0 {
		key = fmt.Sprintf("%s/round-%d", key, e.Round)
	}
	if e.Repeat > 0 {
		key = fmt.Sprintf("%s/repeat-%d", key, e.Repeat)
	}
	return key
}

func (e StartChild) Key() string { return "start/" + e.Child.Name }

func (e CancelChild) Key() string { return "cancel/" + e.Child }

// Key returns a constant: an agent ends once.
func (e CancelRemote) Key() string { return "cancel-remote" }

func (e AskPerson) Key() string { return "ask/" + e.Call }

// Key identifies the item and, if its name was taken, its new name: a renamed post is a different message.
func (e SendItem) Key() string {
	if e.Item.Name != "" {
		return "deliver/" + e.Item.ID + "/" + e.Item.Name
	}
	return "deliver/" + e.Item.ID
}

// Key returns a constant: an agent has one outcome.
func (e ReportOutcome) Key() string { return "tell" }

// WakePrefix begins the key of every timer.
const WakePrefix = "wake/"

func (e WakeAt) Key() string { return fmt.Sprintf("%s%d", WakePrefix, e.At) }
