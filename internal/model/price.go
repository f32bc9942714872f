// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math"
	"math/bits"
	"strings"
)

// DefaultContextTokens is the context of a model that no entry describes.
const DefaultContextTokens = 128_000

// Price is what is known of a model: an entry of a provider's list. Prices are in micro-units of the currency for a
// million tokens; a price that is nil is unknown, which is not free.
type Price struct {
	// Name is the beginning of the names of the models that the entry describes.
	Name                        string
	ContextTokens               int64
	InputMicrosPerMillion       *int64
	CachedInputMicrosPerMillion *int64
	OutputMicrosPerMillion      *int64
	// TextOnly models take no images.
	TextOnly bool
}

// Prices is a provider's list of models.
type Prices []Price

// Of returns the entry whose name is the longest beginning of the model's name.
func (p Prices) Of(model string) (Price, bool) {
	var best Price
	found := false
	for _, entry := range p {
		if strings.HasPrefix(model, entry.Name) && (!found || len(entry.Name) > len(best.Name)) {
			best, found = entry, true
		}
	}
	return best, found
}

// ContextTokens is how much fits into the model's context.
func (p Prices) ContextTokens(model string) int64 {
	if entry, ok := p.Of(model); ok && entry.ContextTokens > 0 {
		return entry.ContextTokens
	}
	return DefaultContextTokens
}

// Cost is what a call cost, in micro-units; nil if the usage or a price that it needs is unknown.
func (p Prices) Cost(model string, usage *Usage) *int64 {
	entry, ok := p.Of(model)
	if !ok {
		return nil
	}
	return entry.Cost(usage)
}

// Cost is what a call cost, in micro-units, rounded up: a started micro-unit counts. It is nil if the usage is unknown,
// or the price of input or output. Cached input without a price of its own costs what input costs. A cost beyond what
// an int64 holds is the largest one.
func (p Price) Cost(usage *Usage) *int64 {
	if usage == nil || p.InputMicrosPerMillion == nil || p.OutputMicrosPerMillion == nil {
		return nil
	}
	cachedPrice := p.InputMicrosPerMillion
	if p.CachedInputMicrosPerMillion != nil {
		cachedPrice = p.CachedInputMicrosPerMillion
	}
	var sum wide
	sum.add(usage.PromptTokens-usage.CachedTokens, *p.InputMicrosPerMillion)
	sum.add(usage.CachedTokens, *cachedPrice)
	sum.add(usage.CompletionTokens, *p.OutputMicrosPerMillion)
	cost := sum.divideUp(1_000_000)
	return &cost
}

// wide is an unsigned number of 128 bits. Three products of int64 fit into it.
type wide struct{ high, low uint64 }

func (w *wide) add(tokens, price int64) {
	if tokens <= 0 || price <= 0 {
		return
	}
	high, low := bits.Mul64(uint64(tokens), uint64(price))
	var carry uint64
	w.low, carry = bits.Add64(w.low, low, 0)
	w.high, _ = bits.Add64(w.high, high, carry)
}

func (w *wide) divideUp(by uint64) int64 {
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
