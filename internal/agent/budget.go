// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"math"
	"math/bits"
)

// Amount is what work uses up: tokens, money in millionths of the currency, and tasks.
type Amount struct {
	Tokens     int64 `json:"tokens,omitempty"`
	CostMicros int64 `json:"costMicros,omitempty"`
	Tasks      int64 `json:"tasks,omitempty"`
}

// Plus adds two amounts. Sums saturate: whatever a provider reports, a sum never wraps around.
func (a Amount) Plus(b Amount) Amount {
	return Amount{Tokens: sum(a.Tokens, b.Tokens), CostMicros: sum(a.CostMicros, b.CostMicros), Tasks: sum(a.Tasks, b.Tasks)}
}

// Minus subtracts an amount, and gives nothing where it is larger.
func (a Amount) Minus(b Amount) Amount {
	return Amount{Tokens: max(0, a.Tokens-b.Tokens), CostMicros: max(0, a.CostMicros-b.CostMicros), Tasks: max(0, a.Tasks-b.Tasks)}
}

// within says whether the amount exceeds no limit; a zero limit is none.
func (a Amount) within(limit Amount) bool {
	return (limit.Tokens == 0 || a.Tokens <= limit.Tokens) && (limit.CostMicros == 0 || a.CostMicros <= limit.CostMicros) &&
		(limit.Tasks == 0 || a.Tasks <= limit.Tasks)
}

// sum adds numbers that are not negative; one that is counts as nothing.
func sum(a, b int64) int64 {
	a, b = max(0, a), max(0, b)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Budget is what may be used, what is, and what is reserved for calls in flight. A zero limit is none.
//
// The core keeps one for each agent; a driver keeps one for the whole tree of a chat, because parallel children
// could overshoot together what each of them respects alone. Both reserve before a call and settle after it.
type Budget struct {
	Limit    Amount `json:"limit,omitzero"`
	Used     Amount `json:"used,omitzero"`
	Reserved Amount `json:"reserved,omitzero"`
	// Until is how much may have been used until a person sends the next message to the chat; see Window.
	Until Amount `json:"until,omitzero"`
}

// budget is what the limits allow an agent, with its subtree, to use.
func (l Limits) budget() Amount {
	return Amount{Tokens: l.MaxTokens, CostMicros: l.MaxCostMicros, Tasks: l.MaxTasks}
}

// Reserve sets an amount aside, if the limits allow it; if not, nothing is reserved.
func (b Budget) Reserve(a Amount) (Budget, bool) {
	if total := b.Used.Plus(b.Reserved).Plus(a); !total.within(b.Limit) || !total.within(b.Until) {
		return b, false
	}
	b.Reserved = b.Reserved.Plus(a)
	return b, true
}

// Exhausted says that an amount exceeds the limit of the agent, and not only what may be used until the next message.
func (b Budget) Exhausted(a Amount) bool { return !b.Used.Plus(b.Reserved).Plus(a).within(b.Limit) }

// Settle releases what was reserved and books what was really used.
func (b Budget) Settle(reserved, used Amount) Budget {
	b.Reserved = b.Reserved.Minus(reserved)
	b.Used = b.Used.Plus(used)
	return b
}

// Usage counts what an agent has used.
type Usage struct {
	PromptTokens     int64 `json:"promptTokens,omitempty"`
	CompletionTokens int64 `json:"completionTokens,omitempty"`
	ModelCalls       int64 `json:"modelCalls,omitempty"`
	// CostMicros is nil if the price of any of the calls is unknown. Unknown is not free.
	CostMicros *int64 `json:"costMicros,omitempty"`
	// Tasks counts the tasks that it has started, and those that were started below it.
	Tasks int64 `json:"tasks,omitempty"`
}

// Total is the sum of all tokens.
func (u Usage) Total() int64 { return sum(u.PromptTokens, u.CompletionTokens) }

func (u Usage) amount() Amount {
	a := Amount{Tokens: u.Total(), Tasks: u.Tasks}
	if u.CostMicros != nil {
		a.CostMicros = *u.CostMicros
	}
	return a
}

// Plus adds two usages. The sum's cost is known only if the cost of everything in it is.
func (u Usage) Plus(v Usage) Usage {
	total := Usage{
		PromptTokens:     sum(u.PromptTokens, v.PromptTokens),
		CompletionTokens: sum(u.CompletionTokens, v.CompletionTokens),
		ModelCalls:       sum(u.ModelCalls, v.ModelCalls),
		Tasks:            sum(u.Tasks, v.Tasks),
	}
	switch {
	case u.CostMicros != nil && v.CostMicros != nil:
		cost := sum(*u.CostMicros, *v.CostMicros)
		total.CostMicros = &cost
	case u.ModelCalls == 0:
		total.CostMicros = v.CostMicros
	case v.ModelCalls == 0:
		total.CostMicros = u.CostMicros
	}
	return total
}

// reserveFor is what a call may use at most: its estimated prompt, and the longest answer.
func (c Config) reserveFor(promptTokens int64) Amount {
	a := Amount{Tokens: sum(promptTokens, c.Limits.MaxOutputTokens)}
	if c.Price != nil {
		a.CostMicros = sum(perMillion(promptTokens, c.Price.Input), perMillion(c.Limits.MaxOutputTokens, c.Price.Output))
	}
	return a
}

// perMillion is the price of tokens at a price for a million of them, rounded up.
func perMillion(tokens, price int64) int64 {
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
