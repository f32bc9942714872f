// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// newBudgetTree returns budgets with a root that has a limit and two agents below it.
func newBudgetTree(limit int64) *budgets {
	b := newBudgets()
	b.set(ledger.Agent{UID: "a", Name: "a", Parent: "top"}, agent.State{}) // a child may be known before its parent
	b.set(ledger.Agent{UID: "top", Name: "top"}, agent.State{Budget: agent.Budget{Limit: agent.Amount{Tokens: limit}}})
	b.set(ledger.Agent{UID: "b", Name: "b", Parent: "top"}, agent.State{})
	return b
}

func stateWithUsage(tokens int64) agent.State {
	return agent.State{Budget: agent.Budget{Used: agent.Amount{Tokens: tokens}}}
}

func TestReservationWaitsForSiblings(t *testing.T) {
	b := newBudgetTree(100)
	var answers []string
	answer := func(who string) func(refusal) {
		return func(r refusal) { answers = append(answers, who+": "+r.reason) }
	}
	b.reserve("a", agent.Amount{Tokens: 60}, answer("a"))
	b.reserve("b", agent.Amount{Tokens: 60}, answer("b"))
	if want := []string{"a: "}; !slices.Equal(answers, want) {
		t.Fatalf("answers are %q, want %q: b must wait for the reservation of a", answers, want)
	}
	b.set(ledger.Agent{UID: "a", Name: "a", Parent: "top"}, stateWithUsage(20), agent.Amount{Tokens: 60})
	if want := []string{"a: ", "b: "}; !slices.Equal(answers, want) {
		t.Fatalf("answers are %q, want %q: a used 20 of its 60", answers, want)
	}
	b.reserve("a", agent.Amount{Tokens: 90}, answer("a"))
	if len(answers) != 3 || answers[2] == "a: " {
		t.Fatalf("answers are %q, want the third to be refused: waiting would not help", answers)
	}
}

func TestEndedChildCountsUntilItsParentHasItsUsage(t *testing.T) {
	b := newBudgetTree(100)
	b.keepEnded(ledger.Agent{UID: "c", Name: "c", Parent: "top"}, stateWithUsage(50))
	var answers []string
	answer := func(r refusal) { answers = append(answers, r.reason) }
	if b.reserve("a", agent.Amount{Tokens: 60}, answer); len(answers) != 1 || answers[0] == "" {
		t.Fatalf("answers are %q, want a refusal: the child has used half of the budget", answers)
	}
	top := stateWithUsage(50)
	top.Budget.Limit.Tokens = 100
	b.set(ledger.Agent{UID: "top", Name: "top"}, top)
	b.dropReported(ledger.Agent{UID: "top"}, "c")
	if used := b.nodes["top"].treeUsed.Tokens; used != 50 {
		t.Errorf("the tree counts %d tokens, want 50: the child's usage counts once", used)
	}
}

func TestPendingReservationCanBeCancelled(t *testing.T) {
	b := newBudgetTree(100)
	b.reserve("a", agent.Amount{Tokens: 60}, func(refusal) {})
	c := b.reserve("b", agent.Amount{Tokens: 60}, func(refusal) { t.Error("the cancelled reservation was answered") })
	if !b.isPending(c) || !b.cancel(c) || b.isPending(c) || b.cancel(c) {
		t.Error("cancel must report true exactly once while the reservation waits")
	}
	b.release("a", agent.Amount{Tokens: 60})
}

// Whatever the agents of a tree do, their usage and reservations never exceed the limit of the root, and no reservation waits
// while nothing is reserved.
func TestTreeBudgetsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 1000
		b := newBudgetTree(limit)
		usage := map[string]int64{}
		open := map[string][]int64{}
		waiting := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			uid := rapid.SampledFrom([]string{"top", "a", "b"}).Draw(t, "agent")
			if calls := open[uid]; len(calls) > 0 && rapid.Bool().Draw(t, "finish") {
				spent := rapid.Int64Range(0, calls[0]).Draw(t, "spent")
				usage[uid] += spent
				open[uid] = calls[1:]
				state := stateWithUsage(usage[uid])
				state.Budget.Limit = b.nodes[uid].limit
				b.set(ledger.Agent{UID: uid, Name: uid, Parent: b.nodes[uid].parent}, state, agent.Amount{Tokens: calls[0]})
			} else {
				amount := rapid.Int64Range(1, 400).Draw(t, "amount")
				waiting++
				b.reserve(uid, agent.Amount{Tokens: amount}, func(r refusal) {
					waiting--
					if r.reason == "" {
						open[uid] = append(open[uid], amount)
					}
				})
			}
			top := b.nodes["top"]
			if total := plus(top.treeUsed, top.treeReserved).Tokens; total > limit {
				t.Fatalf("%d of %d tokens are used or reserved", total, limit)
			}
			if waiting > 0 && top.treeReserved.Tokens == 0 {
				t.Fatalf("%d reservations wait although nothing is reserved", waiting)
			}
		}
	})
}
