// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSlotsAreGrantedInOrder(t *testing.T) {
	s := New(nil)
	var woken []string
	take := func(uid string) bool {
		return s.Acquire(nil, uid, []Group{{Key: "root", Limit: 2}}, func() { woken = append(woken, uid) })
	}
	for i, want := range []bool{true, true, false, false} {
		if got := take(fmt.Sprint(i)); got != want {
			t.Fatalf("agent %d got a slot: %t, want %t", i, got, want)
		}
	}
	if !take("0") {
		t.Error("an agent with a slot lost it")
	}
	s.Release("0")
	if want := []string{"2"}; !slices.Equal(woken, want) {
		t.Fatalf("woken agents are %q, want %q", woken, want)
	}
	if take("3") || take("late") {
		t.Error("an agent overtook one that waited longer")
	}
	s.Release("2") // deleted before it started
	if want := []string{"2", "3"}; !slices.Equal(woken, want) {
		t.Fatalf("woken agents are %q, want %q", woken, want)
	}
	if !take("3") || s.Waits("3") || !s.Waits("late") {
		t.Error("agent 3 should be next")
	}
	for _, uid := range []string{"1", "3", "late"} {
		s.Release(uid)
	}
	if len(s.groups) > 0 || len(s.members) > 0 || len(s.waiting) > 0 {
		t.Errorf("slots still holds %v, %v and %v of a tree that has ended", s.groups, s.members, s.waiting)
	}
}

// Whatever agents of several groups do, no group has more active members than its limit, an agent waits only while one of its
// groups is full, and of two agents that wait for the same groups the first continues first.
func TestSlotGroupLimitsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(nil)
		limits := map[string]int{"chat-a": 1, "chat-b": 2, "namespace": 2, "free": 0}
		groups := [][]string{{"chat-a"}, {"chat-a", "namespace"}, {"chat-b", "namespace"}, {"free"}}
		var line []string // waiting agents, in order
		member := map[string][]string{}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			uid := fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "agent"))
			if _, known := member[uid]; known && rapid.Bool().Draw(t, "leave") {
				delete(member, uid)
				line = slices.DeleteFunc(line, func(other string) bool { return other == uid })
				s.Release(uid)
			} else {
				group, known := member[uid]
				if !known {
					group = rapid.SampledFrom(groups).Draw(t, "group")
					member[uid] = group
					line = append(line, uid)
				}
				var crews []Group
				for _, key := range group {
					crews = append(crews, Group{Key: key, Limit: limits[key]})
				}
				if s.Acquire(nil, uid, crews, func() {}) != s.Holds(uid) {
					t.Fatal("take does not report whether the agent has a slot")
				}
			}
			before := line
			line = slices.DeleteFunc(slices.Clone(line), s.Holds)
			active := map[string]int{}
			for uid, group := range member {
				if s.Holds(uid) {
					for _, key := range group {
						active[key]++
					}
				}
			}
			for key, n := range active {
				if limits[key] > 0 && n > limits[key] {
					t.Fatalf("%d of %s are active, the limit is %d", n, key, limits[key])
				}
			}
			for _, uid := range line {
				if !slices.ContainsFunc(member[uid], func(key string) bool { return limits[key] > 0 && active[key] >= limits[key] }) {
					t.Fatalf("%s waits although its groups %v are not full: %v", uid, member[uid], active)
				}
			}
			for i, first := range before {
				for _, second := range before[i+1:] {
					if slices.Equal(member[first], member[second]) && !s.Holds(first) && s.Holds(second) {
						t.Fatalf("%s continues before %s, which came first", second, first)
					}
				}
			}
		}
	})
}
