// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every author of a message in a chat becomes a requester and stays one.
func TestEveryAuthorIsARequester(t *testing.T) {
	requestersOf := func(messages ...MessageArrived) Requesters {
		s, _ := Step(State{}, Event{At: 1, Fact: Started{Config: Config{Kind: Orchestrator, Name: "chat"}}})
		for i, m := range messages {
			m.Message, m.Text = fmt.Sprint(i), "hello"
			s, _ = Step(s, Event{At: Time(i + 2), Fact: m})
		}
		return s.Requesters
	}
	var many []MessageArrived
	for i := range maxRequesters + 1 {
		many = append(many, MessageArrived{User: fmt.Sprint("user-", i)})
	}
	for name, c := range map[string]struct {
		messages []MessageArrived
		want     Requesters
		bob      bool
	}{
		"nobody":                   {nil, Requesters{}, false},
		"two people":               {[]MessageArrived{{User: "alice"}, {User: "carol"}, {User: "alice"}}, Requesters{Users: []string{"alice", "carol"}}, true},
		"the person who decides":   {[]MessageArrived{{User: "alice"}, {User: "bob"}}, Requesters{Users: []string{"alice", "bob"}}, false},
		"a person who fires":       {[]MessageArrived{{User: "alice", FireUser: "bob"}}, Requesters{Users: []string{"alice", "bob"}}, false},
		"an unnamed author":        {[]MessageArrived{{User: "alice"}, {Unnamed: true}}, Requesters{Users: []string{"alice"}, Unknown: true}, false},
		"only unnamed":             {[]MessageArrived{{Unnamed: true}}, Requesters{Unknown: true}, false},
		"an earlier release":       {[]MessageArrived{{}, {}}, Requesters{}, false},
		"after an earlier release": {[]MessageArrived{{}, {User: "alice"}}, Requesters{Users: []string{"alice"}, Unknown: true}, false},
		"more than the limit":      {many, Requesters{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := requestersOf(c.messages...)
			if len(c.messages) > maxRequesters {
				if !got.Unknown || len(got.Users) != maxRequesters {
					t.Errorf("%d users, unknown: %t", len(got.Users), got.Unknown)
				}
			} else if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if got.MayDecide("bob") != c.bob {
				t.Errorf("bob may decide: %t", !c.bob)
			}
		})
	}
}

func TestRequestersMerge(t *testing.T) {
	first := Requesters{Users: []string{"alice"}}
	both := first.Merge(Requesters{Users: []string{"bob", "alice"}, Unknown: true})
	if !slices.Equal(both.Users, []string{"alice", "bob"}) || !both.Unknown || len(first.Users) != 1 || first.Unknown {
		t.Errorf("got %+v of %+v", both, first)
	}
}

// A second person is a person: a service account decides only if the role allows it.
func TestServiceAccountsDecideIfAllowed(t *testing.T) {
	decision := Decided{User: "system:serviceaccount:ci:robot", Requesters: Requesters{Users: []string{"alice"}}}
	for _, c := range []struct {
		role Role
		want bool
	}{
		{Role{}, true},
		{Role{DenyRequesters: true}, false},
		{Role{DenyRequesters: true, AllowServiceAccounts: true}, true},
	} {
		if got := c.role.allowsDecision(decision, nil); got != c.want {
			t.Errorf("%+v: %t", c.role, got)
		}
	}
	decision.Requesters.Users = []string{decision.User}
	if (Role{DenyRequesters: true, AllowServiceAccounts: true}).allowsDecision(decision, nil) {
		t.Error("a service account decides about its own work")
	}
}
