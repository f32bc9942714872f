// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "slices"

// Askers are the users whose messages led to the work of an agent and its descendants. Everyone who has written to the
// conversation counts, because all messages stay in the history and influence later turns.
type Askers struct {
	Users []string `json:"users,omitempty"`
	// Unknown reports that at least one of them is not known by name, or that there are more than maxAskers.
	Unknown bool `json:"unknown,omitempty"`
}

// maxAskers bounds the users that are kept.
const maxAskers = 256

// Known reports whether all of them are known by name.
func (a Askers) Known() bool { return len(a.Users) > 0 && !a.Unknown }

// With adds a user. An empty name adds an unknown user.
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

// And adds the requesters of another agent.
func (a Askers) And(other Askers) Askers {
	for _, user := range other.Users {
		a = a.With(user)
	}
	a.Unknown = a.Unknown || other.Unknown
	return a
}

// MayDecide reports whether a user may decide about a call of a role with Separation: all requesters must be known, and the user
// must not be one of them.
func (a Askers) MayDecide(user string) bool {
	return user != "" && a.Known() && !slices.Contains(a.Users, user)
}

// separated reports whether the role accepts a decision by its author.
func (r Role) separated(f Decided) bool { return !r.Separation || f.Askers.MayDecide(f.By) }

// askedBy records the author of a message. Events of earlier releases name no author and do not mark messages as unnamed: the
// first message after them makes the requesters of a conversation that has begun unknown.
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
