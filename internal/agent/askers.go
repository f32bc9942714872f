// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "slices"

// Askers are the users who requested the work of an agent and its descendants. Everyone who has written to the conversation counts,
// because all messages stay in the history and influence what follows.
type Askers struct {
	Users []string `json:"users,omitempty"`
	// Unknown says that somebody is one of them whose name is not known, or that there are too many to remember.
	Unknown bool `json:"unknown,omitempty"`
}

// maxAskers is how many people are remembered.
const maxAskers = 256

// Known says whether all askers are known by name.
func (a Askers) Known() bool { return len(a.Users) > 0 && !a.Unknown }

// With returns the askers with a user added. An empty name adds an unknown user.
func (a Askers) With(user string) Askers {
	switch {
	case slices.Contains(a.Users, user):
	case user == "" || len(a.Users) == maxAskers:
		a.Unknown = true
	default:
		a.Users = append(slices.Clip(a.Users), user)
	}
	return a
}

// And adds the askers of another agent.
func (a Askers) And(other Askers) Askers {
	for _, user := range other.Users {
		a = a.With(user)
	}
	a.Unknown = a.Unknown || other.Unknown
	return a
}

// MayDecide says whether a user may decide about a call of a role that asks for separation: all askers are known, and the user is none of
// them.
func (a Askers) MayDecide(user string) bool {
	return user != "" && a.Known() && !slices.Contains(a.Users, user)
}

// separated says whether a role lets the person decide who made a decision.
func (r Role) separated(f Decided) bool { return !r.Separation || f.Askers.MayDecide(f.By) }

// askedBy remembers who wrote a message. Events of earlier releases say neither who did nor that nobody knows: the first message after
// them makes the askers of a conversation that has begun unknown.
func (s State) askedBy(user string, unnamed bool) State {
	if user == "" && !unnamed {
		return s
	}
	if !s.Askers.Known() && (s.Turn.Number > 0 || len(s.Inbox) > 0) {
		s.Askers.Unknown = true
	}
	s.Askers = s.Askers.With(user)
	return s
}
