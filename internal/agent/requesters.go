// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"strings"
)

// Requesters are the users whose messages led to the work of an agent and its descendants. Everyone who has written to the
// conversation counts, because all messages stay in the history and influence later turns.
type Requesters struct {
	Users []string `json:"users,omitempty"`
	// Unknown reports that at least one of them is not known by name, or that there are more than maxRequesters.
	Unknown bool `json:"unknown,omitempty"`
	// Trigger reports that a trigger requested some of the work, for its author.
	Trigger bool `json:"trigger,omitempty"`
}

// maxRequesters bounds the users that are kept.
const maxRequesters = 256

// Known reports whether all of them are known by name.
func (r Requesters) Known() bool { return len(r.Users) > 0 && !r.Unknown }

// With adds a user. An empty name adds an unknown user.
func (r Requesters) With(user string) Requesters {
	switch {
	case slices.Contains(r.Users, user):
	case user == "" || len(r.Users) == maxRequesters:
		r.Unknown = true
	default:
		r.Users = append(slices.Clip(r.Users), user)
	}
	return r
}

// Merge adds the requesters of another agent.
func (r Requesters) Merge(other Requesters) Requesters {
	for _, user := range other.Users {
		r = r.With(user)
	}
	r.Unknown = r.Unknown || other.Unknown
	r.Trigger = r.Trigger || other.Trigger
	return r
}

// Sole returns the only requester, if there is one.
func (r Requesters) Sole() (user string, ok bool) {
	if len(r.Users) != 1 || !r.Known() || r.Trigger {
		return "", false
	}
	return r.Users[0], true
}

// MayDecide reports whether a user may decide about a call of a role with DenyRequesters: all requesters must be known, and the user
// must not be one of them.
func (r Requesters) MayDecide(user string) bool {
	return user != "" && r.Known() && !slices.Contains(r.Users, user)
}

// IsServiceAccount reports whether a user name is that of a service account, which is not a person.
func IsServiceAccount(user string) bool { return strings.HasPrefix(user, "system:serviceaccount:") }

// allowsDecision reports whether the role and the rules of policies accept a decision by its author.
func (r Role) allowsDecision(f Decided, rules []Verdict) bool {
	return !r.DenyRequesters && !denyRequesters(rules) || f.Requesters.MayDecide(f.User) && (r.AllowServiceAccounts || !IsServiceAccount(f.User))
}

// addRequester records the author of a message. Events of earlier releases name no author and do not mark messages as unnamed: the
// first message after them makes the requesters of a conversation that has begun unknown.
func (s State) addRequester(user string, unnamed bool) State {
	if user == "" && !unnamed {
		return s
	}
	if !s.Requesters.Known() && (s.Turn.Number > 0 || len(s.Inbox) > 0) {
		s.Requesters.Unknown = true
	}
	s.Requesters = s.Requesters.With(user)
	return s
}
