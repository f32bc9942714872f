// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package budget contains the types that count usage for agents and the engine: amounts, budgets and usages. Sums
// saturate.
package budget

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"

	"github.com/nestor-dev/nestor/internal/money"
)

// Amount is a quantity of tokens, of money in millionths of the currency, of tasks, and of calls that may write.
type Amount struct {
	Tokens     int64 `json:"tokens,omitempty"`
	CostMicros int64 `json:"costMicros,omitempty"`
	// Currency is the currency of CostMicros. It is empty for a model call with an unknown price, and for a limit, which
	// applies to the currency of the usage.
	Currency string `json:"currency,omitempty"`
	Tasks    int64  `json:"tasks,omitempty"`
	// Writes has no limit: policies read it.
	Writes int64 `json:"writes,omitempty"`
}

// Plus adds two amounts. Sums saturate, so that nonsensical numbers from a provider cannot overflow them.
func (a Amount) Plus(b Amount) Amount {
	return Amount{
		Tokens:     Sum(a.Tokens, b.Tokens),
		CostMicros: Sum(a.CostMicros, b.CostMicros),
		Currency:   money.Join(a.CostMicros, a.Currency, b.CostMicros, b.Currency),
		Tasks:      Sum(a.Tasks, b.Tasks),
		Writes:     Sum(a.Writes, b.Writes),
	}
}

// Minus subtracts an amount. The result is never negative.
func (a Amount) Minus(b Amount) Amount {
	cost := max(0, a.CostMicros-b.CostMicros)
	return Amount{
		Tokens:     max(0, a.Tokens-b.Tokens),
		CostMicros: cost,
		Currency:   money.Join(cost, a.Currency, 0, ""),
		Tasks:      max(0, a.Tasks-b.Tasks),
		Writes:     max(0, a.Writes-b.Writes),
	}
}

// within reports whether the amount exceeds no limit. A zero limit means no limit.
func (a Amount) within(limit Amount) bool {
	return (limit.Tokens == 0 || a.Tokens <= limit.Tokens) && (limit.Tasks == 0 || a.Tasks <= limit.Tasks) &&
		(limit.CostMicros == 0 || a.CostMicros <= limit.CostMicros && a.Currency != money.Several)
}

// Sum adds two numbers and saturates. Negative numbers count as zero.
func Sum(a, b int64) int64 {
	a, b = max(0, a), max(0, b)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Budget contains a limit, the usage, and the amount that is reserved for calls in flight. A zero limit means no limit.
//
// The core keeps one for each agent. The driver keeps one for the whole tree of a chat, because parallel children that
// each stay within their own budget can exceed the tree's together. Both reserve before a call and settle after it.
type Budget struct {
	Limit    Amount `json:"limit,omitzero"`
	Used     Amount `json:"used,omitzero"`
	Reserved Amount `json:"reserved,omitzero"`
	// Until is the usage at which the chat waits for the next message of a person; see Window.
	Until Amount `json:"until,omitzero"`
}

// Reserve reserves an amount and reports whether the limits allow it. If not, the budget is unchanged.
func (b Budget) Reserve(a Amount) (Budget, bool) {
	if b.Exhausted(a) || !b.Used.Plus(b.Reserved).Plus(a).within(b.Until) {
		return b, false
	}
	b.Reserved = b.Reserved.Plus(a)
	return b, true
}

// Exhausted reports whether an amount exceeds the limit itself and not only the amount until the next message.
func (b Budget) Exhausted(a Amount) bool {
	return b.lacksPrice(a) || !b.Used.Plus(b.Reserved).Plus(a).within(b.Limit)
}

func (b Budget) lacksPrice(a Amount) bool {
	return b.Limit.CostMicros > 0 && a.Tokens > 0 && a.Currency == ""
}

// PriceProblem explains why the cost of a model call cannot be counted against the limit. It is empty if it can.
func (b Budget) PriceProblem(a Amount) string {
	used := b.Used.Plus(b.Reserved)
	switch {
	case b.lacksPrice(a):
		return "maxCostMicros is set, and the price of the model is unknown: " +
			"add it to models of the ModelProvider, or remove the limit"
	case b.Limit.CostMicros == 0 || used.Plus(a).Currency != money.Several:
		return ""
	case used.Currency == money.Several:
		return "maxCostMicros is set, and the calls so far have prices in several currencies: remove the limit"
	}
	return fmt.Sprintf("maxCostMicros counts in %s since the first call, and the price of the model is in %s: "+
		"use a ModelProvider with prices in %s, or remove the limit",
		used.Currency, a.Currency, used.Currency)
}

// Settle replaces a reservation with the real usage.
func (b Budget) Settle(reserved, used Amount) Budget {
	b.Reserved = b.Reserved.Minus(reserved)
	b.Used = b.Used.Plus(used)
	return b
}

// Usage counts the tokens, model calls, cost, tasks and writes of an agent.
type Usage struct {
	PromptTokens     int64 `json:"promptTokens,omitempty"`
	CompletionTokens int64 `json:"completionTokens,omitempty"`
	// ReasoningTokens are part of CompletionTokens.
	ReasoningTokens int64 `json:"reasoningTokens,omitempty"`
	ModelCalls      int64 `json:"modelCalls,omitempty"`
	// CostMicros is nil if the price of any call is unknown, or if calls have different currencies. An unknown cost must
	// not count as zero.
	CostMicros *int64 `json:"costMicros,omitempty"`
	// Currency is the currency of CostMicros.
	Currency string `json:"currency,omitempty"`
	// Tasks counts the tasks started by the agent and below it, Writes the calls that may change something.
	Tasks  int64 `json:"tasks,omitempty"`
	Writes int64 `json:"writes,omitempty"`
}

func (u Usage) Total() int64 { return Sum(u.PromptTokens, u.CompletionTokens) }

// Amount returns the part of the usage that counts against a budget.
func (u Usage) Amount() Amount {
	a := Amount{Tokens: u.Total(), Tasks: u.Tasks, Writes: u.Writes}
	if u.CostMicros != nil {
		a.CostMicros, a.Currency = *u.CostMicros, u.Currency
	}
	return a
}

// Plus adds two usages. The cost of the sum is known only if both costs are, in the same currency.
func (u Usage) Plus(v Usage) Usage {
	total := Usage{
		PromptTokens:     Sum(u.PromptTokens, v.PromptTokens),
		CompletionTokens: Sum(u.CompletionTokens, v.CompletionTokens),
		ReasoningTokens:  Sum(u.ReasoningTokens, v.ReasoningTokens),
		ModelCalls:       Sum(u.ModelCalls, v.ModelCalls),
		Tasks:            Sum(u.Tasks, v.Tasks),
		Writes:           Sum(u.Writes, v.Writes),
	}
	switch {
	case u.CostMicros != nil && v.CostMicros != nil:
		if cost := u.Amount().Plus(v.Amount()); cost.Currency != money.Several {
			total.CostMicros, total.Currency = &cost.CostMicros, cmp.Or(cost.Currency, u.Currency, v.Currency)
		}
	case u.ModelCalls == 0:
		total.CostMicros, total.Currency = v.CostMicros, v.Currency
	case v.ModelCalls == 0:
		total.CostMicros, total.Currency = u.CostMicros, u.Currency
	}
	return total
}

// Cost returns the cost of tokens at a price per million, rounded up.
func Cost(tokens, price int64) int64 {
	const million = 1_000_000
	high, low := bits.Mul64(uint64(max(0, tokens)), uint64(max(0, price)))
	if high >= million { // the quotient would not fit
		return math.MaxInt64
	}
	cost, rest := bits.Div64(high, low, million)
	if rest > 0 {
		cost++
	}
	return int64(min(cost, math.MaxInt64))
}

// Max returns the maximum of two usages, field by field. ReasoningTokens are left out.
func (u Usage) Max(v Usage) Usage {
	highest := Usage{
		PromptTokens:     max(u.PromptTokens, v.PromptTokens),
		CompletionTokens: max(u.CompletionTokens, v.CompletionTokens),
		ModelCalls:       max(u.ModelCalls, v.ModelCalls),
		CostMicros:       u.CostMicros,
		Currency:         u.Currency,
		Tasks:            max(u.Tasks, v.Tasks),
		Writes:           max(u.Writes, v.Writes),
	}
	if v.CostMicros != nil && (u.CostMicros == nil || *v.CostMicros > *u.CostMicros) {
		highest.CostMicros, highest.Currency = v.CostMicros, v.Currency
	}
	return highest
}

// Max returns the maximum of two amounts, field by field.
func (a Amount) Max(b Amount) Amount {
	return Amount{
		Tokens:     max(a.Tokens, b.Tokens),
		CostMicros: max(a.CostMicros, b.CostMicros),
		Currency:   money.Join(a.CostMicros, a.Currency, b.CostMicros, b.Currency),
		Tasks:      max(a.Tasks, b.Tasks),
		Writes:     max(a.Writes, b.Writes),
	}
}
