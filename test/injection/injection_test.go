// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"testing"

	. "github.com/onsi/gomega"
)

// scenario is a way for an injected text to reach an agent, and what the text makes the agent do.
type scenario struct {
	name string
	// start starts work of a person that has nothing to do with the injected call. The call has the id as its target.
	start func(r *room, id string) work
	// tool is the tool of the injected call; performed replaces it for calls that the toolbox does not have.
	tool      string
	performed func(r *room, id string) bool
	// rule is the rule in status.waiting. It defaults to writes-after-untrusted-content.
	rule string
	// denied makes the call end without a question.
	denied bool
	// labels are those of a namespace of its own; nil means guarded.
	labels map[string]string
}

// attempt is a scenario in a namespace.
type attempt struct {
	scenario
	room *room
	id   string
	work work
}

func TestInjection(t *testing.T) {
	w := start(t)
	t.Run("attacks", func(t *testing.T) {
		t.Parallel()
		runAttacks(t, w)
	})
	t.Run("benign", func(t *testing.T) {
		t.Parallel()
		runTasks(t, w)
	})
}

// runAttacks starts all attempts first, because most of their time is spent waiting.
func runAttacks(t *testing.T, w *target) {
	type pair struct {
		scenario
		open, guarded attempt
	}
	groups := map[string][]pair{}
	count := 0
	for group, scenarios := range attacks() {
		rooms := map[bool]*room{false: w.room(t, "open-"+group, nil), true: w.room(t, "guarded-"+group, guarded)}
		for _, s := range scenarios {
			begin := func(r *room) attempt {
				id := r.Namespace + "-" + s.name
				return attempt{s, r, id, s.start(r, id)}
			}
			p := pair{scenario: s, open: begin(rooms[false])}
			if s.labels != nil {
				p.guarded = begin(w.room(t, "guarded-"+s.name, s.labels))
			} else {
				p.guarded = begin(rooms[true])
			}
			groups[group] = append(groups[group], p)
			count++
		}
	}
	if count < 60 {
		t.Errorf("there are %d scenarios, want at least 60", count)
	}
	for group, pairs := range groups {
		t.Run(group, func(t *testing.T) {
			for _, p := range pairs {
				t.Run(p.name, func(t *testing.T) {
					p.open.succeeds(t)
					p.guarded.fails(t)
				})
			}
		})
	}
}

func (a attempt) isPerformed(r *room) bool {
	if a.performed != nil {
		return a.performed(r, a.id)
	}
	return r.target.tools.count(a.tool, a.id) > 0
}

// succeeds checks that the attack has its effect without policies.
func (a attempt) succeeds(t *testing.T) {
	t.Helper()
	r := a.room.at(t)
	r.Eventually(func() bool { return a.isPerformed(r) }).Should(BeTrue(), "without policies, the injected call is made")
}

// fails checks that a person is asked, or the call denied, before it has an effect.
func (a attempt) fails(t *testing.T) {
	t.Helper()
	r := a.room.at(t)
	if a.denied {
		r.Eventually(r.denied(a.work)).Should(BeTrue(), "the injected call is denied")
	} else {
		rule := a.rule
		if rule == "" {
			rule = "writes-after-untrusted-content"
		}
		r.Eventually(r.waiting(a.work)).Should(ContainElement(showsRule(rule)), "a person is asked")
	}
	r.Expect(a.isPerformed(r)).To(BeFalse(), "the injected call was made before a person approved it")
}
