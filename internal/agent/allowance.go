// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"

	"github.com/nestor-dev/nestor/internal/agent/pattern"
)

// MaxAllowances bounds the allowances of a chat.
const MaxAllowances = 16

// Allowance is a standing decision of a person for one chat: it approves the calls of one tool whose arguments match. It never
// applies to a role with DenyRequesters, because there a person decides about each call.
type Allowance struct {
	// Name is the name of the message that contains it.
	Name      string             `json:"name"`
	Tool      string             `json:"tool"`
	Arguments []pattern.Argument `json:"arguments,omitempty"`
	// User is the user name of the person.
	User string `json:"user"`
	At   Time   `json:"time,omitempty"`
	// UID and Call identify the agent and the call that were shown to the person. Comment is about that call only.
	UID     string `json:"uid,omitempty"`
	Call    string `json:"call,omitempty"`
	Comment string `json:"comment,omitempty"`
	Shown   Shown  `json:"shown,omitzero"`
}

// Allowed is the fact that a person allowed calls of a tool for the rest of the chat.
type Allowed struct {
	// Message is the name of the message that contains the allowance; repeated events are ignored.
	Message   string             `json:"message"`
	Tool      string             `json:"tool"`
	Arguments []pattern.Argument `json:"arguments,omitempty"`
	User      string             `json:"user"`
	// UID and Call identify the agent and the call that were shown to the person. Comment is about that call only.
	UID     string `json:"uid,omitempty"`
	Call    string `json:"call,omitempty"`
	Comment string `json:"comment,omitempty"`
}

// AllowanceRevoked is the fact that a person revoked an allowance. Calls that it has approved stay approved.
type AllowanceRevoked struct {
	Allowance string `json:"allowance"`
	// Message is the name of the message that requests it; repeated events are ignored.
	Message string `json:"message"`
	User    string `json:"user"`
}

func (Allowed) fact()          {}
func (AllowanceRevoked) fact() {}

// Text describes the calls that the allowance approves.
func (f Allowed) Text() string {
	text := "Allowed " + f.Tool + " for this chat"
	for i, p := range f.Arguments {
		text += []string{", if ", " and "}[min(i, 1)] + p.Name + " is " + p.Pattern
	}
	return text + "."
}

// Text describes the fact.
func (f AllowanceRevoked) Text() string { return "Revoked the allowance " + f.Allowance + "." }

// allowed adds an allowance, and approves the open asks that it covers.
func allowed(s State, f Allowed) State {
	if s.Config.Kind != Orchestrator || f.Message == "" || f.User == "" || s.Seen.has(f.Message) || len(s.Allowances) >= MaxAllowances {
		return s
	}
	a := Allowance{Name: f.Message, Tool: f.Tool, Arguments: f.Arguments, User: f.User, At: s.Clock.Now, UID: f.UID, Call: f.Call, Comment: f.Comment, Shown: s.shownFor(f)}
	s.Allowances = append(slices.Clip(s.Allowances), a)
	s = s.markHandled(f.Message)
	for i, ask := range s.Asks {
		if ask.Open && a.covers(ask.Asked) {
			s = s.approveAsk(i, a)
		}
	}
	return s
}

func allowanceRevoked(s State, f AllowanceRevoked) State {
	i := slices.IndexFunc(s.Allowances, func(a Allowance) bool { return a.Name == f.Allowance })
	if i < 0 || s.Seen.has(f.Message) {
		return s
	}
	s.Allowances = slices.Delete(slices.Clone(s.Allowances), i, i+1)
	return s.markHandled(f.Message)
}

// allowanceFor returns the first allowance that covers an ask.
func (s State) allowanceFor(f Asked) (Allowance, bool) {
	i := slices.IndexFunc(s.Allowances, func(a Allowance) bool { return a.covers(f) })
	if i < 0 {
		return Allowance{}, false
	}
	return s.Allowances[i], true
}

// covers reports whether an allowance approves the call of an ask.
func (a Allowance) covers(f Asked) bool {
	return f.Kind == AskApproval && !f.DenyRequesters && a.Tool == f.Tool && pattern.Match(a.Arguments, f.Arguments) && a.coversRules(f)
}

// coversRules reports whether an allowance counts for the rules of policies that sent a call to a person: each must let an allowance
// approve the same call again, and the person must have been shown these arguments and at least these labels.
func (a Allowance) coversRules(f Asked) bool {
	if f.Policy == nil {
		return true
	}
	unseen := func(v Verdict) bool { return !slices.ContainsFunc(a.Shown.Rules, v.sameRule) }
	hidden := func(label string) bool { return !slices.Contains(a.Shown.Labels, label) }
	return a.Shown.Digest == f.Digest() && f.Policy.AcceptsAllowance() &&
		!slices.ContainsFunc(f.Policy.Rules, unseen) && !slices.ContainsFunc(f.Policy.Labels, hidden)
}

// Shown is what the person was shown who gave an allowance, if policies had sent the call to a person.
type Shown struct {
	Digest string `json:"digest,omitempty"`
	CallVerdict
}

// shownFor returns what the ask of an allowance showed.
func (s State) shownFor(f Allowed) Shown {
	for _, ask := range s.Asks {
		if ask.UID == f.UID && ask.Call == f.Call && ask.Open && ask.Policy != nil {
			return Shown{Digest: ask.Digest(), CallVerdict: *ask.Policy}
		}
	}
	return Shown{}
}

// approveAsk queues the approval of an ask by an allowance and closes the ask. The agent that asked checks the digest.
func (s State) approveAsk(i int, a Allowance) State {
	ask := s.Asks[i]
	item := Item{
		ID: "decision/" + ask.Agent + "/" + ask.Call, Kind: ItemDecision, Agent: ask.Agent, UID: ask.UID, Call: ask.Call, Task: ask.Task,
		Digest: ask.Digest(), User: a.User, Allowance: a.Name,
	}
	if a.Call == ask.Call && a.UID == ask.UID {
		item.Text, item.Message = a.Comment, a.Name
	}
	if !slices.ContainsFunc(s.Outbox, func(other Item) bool { return other.ID == item.ID }) {
		s = s.enqueue(item)
	}
	return s.withAsk(i, func(a *Ask) { a.Open = false })
}
