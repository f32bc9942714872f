// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"math"
	"math/bits"
	"strings"
)

// DefaultContextTokens is the context size of a model without an entry.
const DefaultContextTokens = 128_000

// Price is an entry in a provider's list of models. Prices are in micro-units of the currency per million tokens; a
// nil price is unknown, not zero.
type Price struct {
	// Name is the prefix of the model names that the entry describes.
	Name string
	// Currency is an ISO 4217 code.
	Currency                    string
	ContextTokens               int64
	InputMicrosPerMillion       *int64
	CachedInputMicrosPerMillion *int64
	CacheWriteMicrosPerMillion  *int64
	OutputMicrosPerMillion      *int64
	// TextOnly models do not accept images.
	TextOnly bool
	// NoReasoning models do not accept a reasoning effort.
	NoReasoning bool
}

// Prices is a provider's list of models.
type Prices []Price

// Of returns the entry whose name is the longest prefix of the model's name.
func (p Prices) Of(model string) (Price, bool) {
	var best Price
	ok := false
	for _, entry := range p {
		if strings.HasPrefix(model, entry.Name) && (!ok || len(entry.Name) > len(best.Name)) {
			best, ok = entry, true
		}
	}
	return best, ok
}

// Currency returns the currency of a model's price. It is empty if a required price is unknown.
func (p Prices) Currency(model string) string {
	entry, _ := p.Of(model)
	if entry.InputMicrosPerMillion == nil || entry.OutputMicrosPerMillion == nil {
		return ""
	}
	return entry.Currency
}

func (p Prices) ContextTokens(model string) int64 {
	if entry, ok := p.Of(model); ok && entry.ContextTokens > 0 {
		return entry.ContextTokens
	}
	return DefaultContextTokens
}

// Cost returns the cost of a call in micro-units, rounded up. It is nil if the usage or the price of input or output is
// unknown. Input that was read from the provider's cache, or written to it, costs as much as other input unless it has
// its own price. A cost that overflows is math.MaxInt64.
func (p Price) Cost(usage *Usage) *int64 {
	if usage == nil || p.InputMicrosPerMillion == nil || p.OutputMicrosPerMillion == nil {
		return nil
	}
	var sum uint128
	sum.add(usage.PromptTokens-usage.CachedTokens-usage.CacheWriteTokens, *p.InputMicrosPerMillion)
	sum.add(usage.CachedTokens, *cmp.Or(p.CachedInputMicrosPerMillion, p.InputMicrosPerMillion))
	sum.add(usage.CacheWriteTokens, *cmp.Or(p.CacheWriteMicrosPerMillion, p.InputMicrosPerMillion))
	sum.add(usage.CompletionTokens, *p.OutputMicrosPerMillion)
	cost := sum.divideUp(1_000_000)
	return &cost
}

// MaxCost returns the most that a call with these tokens can cost, or nil if a required price is unknown.
func (p Prices) MaxCost(model string, prompt, completion int64) *int64 {
	entry, ok := p.Of(model)
	if !ok || entry.InputMicrosPerMillion == nil {
		return nil
	}
	most := entry.MostInput()
	entry.InputMicrosPerMillion = &most
	return entry.Cost(&Usage{PromptTokens: prompt, CompletionTokens: completion})
}

// MostInput returns the highest price of input, for reservations: only after the call it is known which tokens the
// provider has written to its cache. InputMicrosPerMillion must be set.
func (p Price) MostInput() int64 {
	most := *p.InputMicrosPerMillion
	for _, price := range []*int64{p.CachedInputMicrosPerMillion, p.CacheWriteMicrosPerMillion} {
		if price != nil {
			most = max(most, *price)
		}
	}
	return most
}

// uint128 is an unsigned 128-bit number. The sum of four products of int64 fits into it.
type uint128 struct{ high, low uint64 }

func (w *uint128) add(tokens, price int64) {
	if tokens <= 0 || price <= 0 {
		return
	}
	high, low := bits.Mul64(uint64(tokens), uint64(price))
	var carry uint64
	w.low, carry = bits.Add64(w.low, low, 0)
	w.high, _ = bits.Add64(w.high, high, carry)
}

func (w *uint128) divideUp(by uint64) int64 {
	if w.high >= by {
		return math.MaxInt64
	}
	quotient, remainder := bits.Div64(w.high, w.low, by)
	if remainder > 0 && quotient < math.MaxInt64 {
		quotient++
	}
	if quotient > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(quotient)
}
