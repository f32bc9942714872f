// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model/schedule"
)

// newBudgetTree returns budgets with a root that has a limit and two agents below it.
func newBudgetTree(t *testing.T, limit int64) *Budgets {
	t.Helper()
	b := newWorld(t).queue.NewBudgets()
	b.Set(ledger.Agent{UID: "a", Name: "a", Parent: "top"}, agent.State{}) // a child may be known before its parent
	b.Set(ledger.Agent{UID: "top", Name: "top"}, agent.State{Budget: budget.Budget{Limit: budget.Amount{Tokens: limit}}})
	b.Set(ledger.Agent{UID: "b", Name: "b", Parent: "top"}, agent.State{})
	return b
}

func stateWithUsage(tokens int64) agent.State {
	return agent.State{Budget: budget.Budget{Used: budget.Amount{Tokens: tokens}}}
}

// reserve submits a call of an agent, which adds its answer.
func reserve(b *Budgets, uid string, tokens int64, answers *[]string) *Call {
	c := &Call{Agent: ledger.Agent{UID: uid, Namespace: "ns"}, Reserve: budget.Amount{Tokens: tokens}, Budgets: b, Ticket: schedule.Ticket{Provider: "p"},
		Started: func(grant *schedule.Grant) {
			grant.Release(schedule.Result{})
			*answers = append(*answers, uid)
		},
		Refused: func(r Refusal) { *answers = append(*answers, uid+": "+string(r.Failure)) },
	}
	b.queue.Submit(c)
	return c
}

func TestCallWaitsForSiblingBudget(t *testing.T) {
	b := newBudgetTree(t, 100)
	var answers []string
	reserve(b, "a", 60, &answers)
	reserve(b, "b", 60, &answers)
	if want := []string{"a"}; !slices.Equal(answers, want) {
		t.Fatalf("answers are %q, want %q: b must wait for the reservation of a", answers, want)
	}
	b.Set(ledger.Agent{UID: "a", Name: "a", Parent: "top"}, stateWithUsage(20), budget.Amount{Tokens: 60})
	if want := []string{"a", "b"}; !slices.Equal(answers, want) {
		t.Fatalf("answers are %q, want %q: a used 20 of its 60", answers, want)
	}
	reserve(b, "a", 90, &answers)
	if want := []string{"a", "b", "a: Budget"}; !slices.Equal(answers, want) {
		t.Fatalf("answers are %q, want %q: waiting would not help", answers, want)
	}
}

func TestEndedChildCountsUntilReported(t *testing.T) {
	b := newBudgetTree(t, 100)
	b.KeepEnded(ledger.Agent{UID: "c", Name: "c", Parent: "top"}, stateWithUsage(50))
	var answers []string
	if reserve(b, "a", 60, &answers); !slices.Equal(answers, []string{"a: Budget"}) {
		t.Fatalf("answers are %q, want a refusal: the child has used half of the budget", answers)
	}
	top := stateWithUsage(50)
	top.Budget.Limit.Tokens = 100
	b.Set(ledger.Agent{UID: "top", Name: "top"}, top)
	b.DropReported(ledger.Agent{UID: "top"}, "c")
	if used, _ := b.TreeUsage("top"); used.Tokens != 50 {
		t.Errorf("the tree counts %d tokens, want 50: the child's usage counts once", used.Tokens)
	}
}

func TestBudgetWaitCanBeCancelled(t *testing.T) {
	b := newBudgetTree(t, 100)
	var answers []string
	first := reserve(b, "a", 60, &answers)
	second := reserve(b, "b", 60, &answers)
	if first.Cancel() || !second.Cancel() || second.Cancel() {
		t.Error("cancel must report true exactly once while the call waits")
	}
	b.Release("a", budget.Amount{Tokens: 60})
	if !slices.Equal(answers, []string{"a"}) {
		t.Errorf("answers are %q: the cancelled call was answered", answers)
	}
}

// Below a cost limit the first call that costs something decides about the currency. A call of a sibling in another
// one waits for it.
func TestTreeCountsMoneyInOneCurrency(t *testing.T) {
	for name, tc := range map[string]struct {
		used budget.Amount
		want string
	}{
		"the first call cost something": {budget.Amount{Tokens: 1, CostMicros: 5, Currency: "EUR"}, "the budget of top: maxCostMicros counts in EUR since the first call, and the price of the model is in USD"},
		"the first call failed":         {budget.Amount{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBudgetTree(t, 0)
			b.Set(ledger.Agent{UID: "top", Name: "top"}, agent.State{Budget: budget.Budget{Limit: budget.Amount{CostMicros: 100}}})
			var answers []string
			submit := func(uid, currency string) budget.Amount {
				c := &Call{Agent: ledger.Agent{UID: uid, Namespace: "ns"}, Reserve: budget.Amount{Tokens: 10, CostMicros: 10, Currency: currency}, Budgets: b, Ticket: schedule.Ticket{Provider: "p"},
					Started: func(grant *schedule.Grant) {
						grant.Release(schedule.Result{})
						answers = append(answers, uid)
					},
					Refused: func(r Refusal) { answers = append(answers, uid+": "+r.Message) },
				}
				b.queue.Submit(c)
				return c.Reserve
			}
			first := submit("a", "EUR")
			submit("b", "USD")
			if want := []string{"a"}; !slices.Equal(answers, want) {
				t.Fatalf("answers are %q, want %q: b waits for the first call", answers, want)
			}
			b.Set(ledger.Agent{UID: "a", Name: "a", Parent: "top"}, agent.State{Budget: budget.Budget{Used: tc.used}}, first)
			if len(answers) != 2 || !strings.HasPrefix(answers[1], "b") || !strings.Contains(answers[1], tc.want) || tc.want == "" && answers[1] != "b" {
				t.Fatalf("answers are %q, want that of b to contain %q", answers, tc.want)
			}
			submit("a", "")
			if last := answers[len(answers)-1]; !strings.Contains(last, "the price of the model is unknown") {
				t.Errorf("a call without a price got %q", last)
			}
		})
	}
}

// Writes are reserved only with the number with which they were judged, whatever other agents of the tree reserve
// meanwhile.
func TestWritesAreReservedAsJudged(t *testing.T) {
	b := newBudgetTree(t, 100)
	fresh := ledger.Agent{UID: "new", Name: "new", Parent: "a", Root: "top"}
	if !b.ReserveWrites(fresh, 0, 2) || b.ReserveWrites(ledger.Agent{UID: "b", Parent: "top", Root: "top"}, 0, 1) {
		t.Fatal("an agent reserved with an old number")
	}
	if b.Release("new", budget.Amount{Writes: 2}); b.nodes["new"] != nil || b.RootUsage("b", "top", "top").Writes != 0 {
		t.Fatal("an agent that did not start is kept")
	}
	if !b.ReserveWrites(fresh, 0, 1) {
		t.Fatal("what was released cannot be reserved")
	}
	b.Set(fresh, agent.State{Budget: budget.Budget{Used: budget.Amount{Writes: 1}}}, budget.Amount{Writes: 1})
	if got := b.RootUsage("b", "top", "top"); got.Writes != 1 {
		t.Errorf("%d writes are used, want 1", got.Writes)
	}
}

func TestRootUsageOfStartingAgent(t *testing.T) {
	b := newBudgetTree(t, 100)
	b.Set(ledger.Agent{UID: "a", Name: "a", Parent: "top"}, stateWithUsage(30))
	for _, parent := range []string{"a", "gone"} {
		if got := b.RootUsage("new", parent, "top"); got.Tokens != 30 {
			t.Errorf("%d tokens are used for a child of %s that starts, want those of the tree", got.Tokens, parent)
		}
	}
}
