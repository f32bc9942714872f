// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

// Amount is what a model call uses up: tokens, and money in millionths of the currency.
type Amount struct {
	Tokens     int64 `json:"tokens,omitempty"`
	CostMicros int64 `json:"costMicros,omitempty"`
}

func (a Amount) plus(b Amount) Amount {
	return Amount{Tokens: a.Tokens + b.Tokens, CostMicros: a.CostMicros + b.CostMicros}
}

// Budget is what may be used, what is, and what is reserved for calls in flight. A zero limit is none.
//
// The core keeps one for each agent; a driver keeps one for the whole tree of a chat, because parallel children
// could overshoot together what each of them respects alone. Both reserve before a call and settle after it.
type Budget struct {
	Limit    Amount `json:"limit,omitzero"`
	Used     Amount `json:"used,omitzero"`
	Reserved Amount `json:"reserved,omitzero"`
}

// Reserve sets an amount aside, if the limit allows it; if not, nothing is reserved.
func (b Budget) Reserve(a Amount) (Budget, bool) {
	total := b.Used.plus(b.Reserved).plus(a)
	if b.Limit.Tokens > 0 && total.Tokens > b.Limit.Tokens {
		return b, false
	}
	if b.Limit.CostMicros > 0 && total.CostMicros > b.Limit.CostMicros {
		return b, false
	}
	b.Reserved = b.Reserved.plus(a)
	return b, true
}

// Settle releases what was reserved and books what was really used.
func (b Budget) Settle(reserved, used Amount) Budget {
	b.Reserved.Tokens = max(0, b.Reserved.Tokens-reserved.Tokens)
	b.Reserved.CostMicros = max(0, b.Reserved.CostMicros-reserved.CostMicros)
	b.Used = b.Used.plus(used)
	return b
}

// Usage counts what model calls have used.
type Usage struct {
	PromptTokens     int64 `json:"promptTokens,omitempty"`
	CompletionTokens int64 `json:"completionTokens,omitempty"`
	ModelCalls       int64 `json:"modelCalls,omitempty"`
	// CostMicros is nil if the price of any of the calls is unknown. Unknown is not free.
	CostMicros *int64 `json:"costMicros,omitempty"`
}

// Total is the sum of all tokens.
func (u Usage) Total() int64 { return u.PromptTokens + u.CompletionTokens }

func (u Usage) amount() Amount {
	a := Amount{Tokens: u.Total()}
	if u.CostMicros != nil {
		a.CostMicros = *u.CostMicros
	}
	return a
}

// Plus adds two usages. The sum's cost is known only if the cost of everything in it is.
func (u Usage) Plus(v Usage) Usage {
	sum := Usage{
		PromptTokens:     u.PromptTokens + v.PromptTokens,
		CompletionTokens: u.CompletionTokens + v.CompletionTokens,
		ModelCalls:       u.ModelCalls + v.ModelCalls,
	}
	switch {
	case u.CostMicros != nil && v.CostMicros != nil:
		cost := *u.CostMicros + *v.CostMicros
		sum.CostMicros = &cost
	case u.ModelCalls == 0:
		sum.CostMicros = v.CostMicros
	case v.ModelCalls == 0:
		sum.CostMicros = u.CostMicros
	}
	return sum
}

// reserveFor is what a call may use at most: its estimated prompt, and the longest answer.
func (c Config) reserveFor(promptTokens int64) Amount {
	a := Amount{Tokens: promptTokens + c.Limits.MaxOutputTokens}
	if c.Price != nil {
		a.CostMicros = perMillion(promptTokens, c.Price.Input) + perMillion(c.Limits.MaxOutputTokens, c.Price.Output)
	}
	return a
}

// perMillion is the price of tokens at a price for a million of them, rounded up.
func perMillion(tokens, price int64) int64 {
	const million = 1_000_000
	whole, rest := tokens/million, tokens%million
	return whole*price + (rest*price+million-1)/million
}
