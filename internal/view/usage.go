// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Usages sums the usage of the chats, tasks and sub-agents of a snapshot, in the form of the history API. A status
// includes everything below it; here each adds only its own part, so that nothing counts twice.
func (s Snapshot) Usages() []historyv1.Usage {
	sums := sums{}
	for _, chat := range s.Chats {
		nodes := s.Tree(chat.Name)
		sums.add(ownUsage(chat.Status.Usage, nodes), cmp.Or(chat.Spec.Role, "orchestrator"), chat.Spec.Model, chat.Name)
		sums.addAll(nodes, chat.Name)
	}
	sums.addAll(s.Tree(""), "")
	return sums.sorted()
}

// ownUsage subtracts the usage of child nodes from the usage of their parent.
func ownUsage(u v1beta1.Usage, below []*Node) v1beta1.Usage {
	for _, n := range below {
		b := n.Usage()
		u.PromptTokens -= b.PromptTokens
		u.CompletionTokens -= b.CompletionTokens
		u.TotalTokens -= b.TotalTokens
		u.ModelCalls -= b.ModelCalls
		if b.CostMicros == nil && b.ModelCalls == 0 {
			continue // a tool, or an agent that has not started
		}
		if u.CostMicros == nil || b.CostMicros == nil || u.Currency != b.Currency {
			u.CostMicros, u.Currency = nil, ""
			continue
		}
		u.CostMicros = new(*u.CostMicros - *b.CostMicros)
	}
	return u
}

type key struct {
	by    historyv1.UsageDimension
	value string
}

type sums map[key]*historyv1.CallUsage

func (s sums) addAll(nodes []*Node, chat string) {
	for _, n := range nodes {
		model := n.Task.Spec.Model
		if n.Agent != nil {
			model = n.Agent.Spec.Model
		}
		s.add(ownUsage(n.Usage(), n.Children), n.Task.Spec.Role, model, chat)
		s.addAll(n.Children, chat)
	}
}

func (s sums) add(u v1beta1.Usage, role, model, chat string) {
	if u.ModelCalls <= 0 && u.TotalTokens <= 0 {
		return // a tool, or an agent that has not started; a status that lags behind its children can make it negative
	}
	for _, k := range []key{{historyv1.UsageTotal, ""}, {historyv1.UsageByRole, role}, {historyv1.UsageByModel, model}, {historyv1.UsageByChat, chat}} {
		sum := s[k]
		if sum == nil {
			sum = &historyv1.CallUsage{}
			s[k] = sum
		}
		sum.Total += u.ModelCalls
		sum.PromptTokens += u.PromptTokens
		sum.CompletionTokens += u.CompletionTokens
		sum.TotalTokens += u.TotalTokens
		if u.CostMicros == nil {
			sum.UnknownCostCalls += u.ModelCalls
			continue
		}
		AddCosts(sum, historyv1.Cost{Currency: u.Currency, CostMicros: *u.CostMicros})
	}
}

// AddCosts adds the costs of calls to a sum, each to that of its currency.
func AddCosts(sum *historyv1.CallUsage, costs ...historyv1.Cost) {
	for _, c := range costs {
		i, ok := slices.BinarySearchFunc(sum.Costs, c.Currency, func(c historyv1.Cost, currency string) int {
			return cmp.Compare(c.Currency, currency)
		})
		if !ok {
			sum.Costs = slices.Insert(slices.Clone(sum.Costs), i, historyv1.Cost{Currency: c.Currency})
		}
		sum.Costs[i].CostMicros += c.CostMicros
	}
}

func (s sums) sorted() []historyv1.Usage {
	usages := []historyv1.Usage{}
	for k, sum := range s {
		usages = append(usages, historyv1.Usage{By: k.by, Value: k.value, ModelCalls: *sum})
	}
	slices.SortFunc(usages, func(a, b historyv1.Usage) int {
		return cmp.Or(cmp.Compare(a.By, b.By), cmp.Compare(b.ModelCalls.TotalTokens, a.ModelCalls.TotalTokens), cmp.Compare(a.Value, b.Value))
	})
	return usages
}
