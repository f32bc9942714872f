// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/model"
)

func prices() model.Prices {
	return model.Prices{
		{Name: "gpt", InputMicrosPerMillion: new(int64(9_000_000)), OutputMicrosPerMillion: new(int64(9_000_000))},
		{Name: "gpt-5-mini", ContextTokens: 400_000, InputMicrosPerMillion: new(int64(250_000)), CachedInputMicrosPerMillion: new(int64(25_000)), OutputMicrosPerMillion: new(int64(2_000_000))},
		{Name: "gpt-5", InputMicrosPerMillion: new(int64(1_250_000)), OutputMicrosPerMillion: new(int64(10_000_000))},
		{Name: "claude-sonnet", InputMicrosPerMillion: new(int64(3_000_000)), CachedInputMicrosPerMillion: new(int64(300_000)), CacheWriteMicrosPerMillion: new(int64(3_750_000)), OutputMicrosPerMillion: new(int64(15_000_000))},
		{Name: "half", InputMicrosPerMillion: new(int64(1))},
		{Name: "free", InputMicrosPerMillion: new(int64(0)), OutputMicrosPerMillion: new(int64(0))},
	}
}

func TestCostOfACall(t *testing.T) {
	usage := &model.Usage{PromptTokens: 1000, CachedTokens: 400, CompletionTokens: 50, TotalTokens: 1050}
	written := &model.Usage{PromptTokens: 1000, CachedTokens: 400, CacheWriteTokens: 300, CompletionTokens: 50, TotalTokens: 1050}
	for name, tc := range map[string]struct {
		model string
		usage *model.Usage
		want  *int64
	}{
		"the longest prefix wins, cached input has its price": {"gpt-5-mini-2025", usage, new(int64(150 + 10 + 100))},
		"cached input without a price costs as input":         {"gpt-5.1", usage, new(int64(1250 + 500))},
		"writes to the cache have their price":                {"claude-sonnet-4", written, new(int64(300*3 + 400*3/10 + 300*375/100 + 50*15))},
		"writes to the cache without a price cost as input":   {"gpt-5.1", written, new(int64(1250 + 500))},
		"rounded up to a micro-unit":                          {"gpt-5-mini", &model.Usage{PromptTokens: 1}, new(int64(1))},
		"nothing used costs nothing":                          {"gpt-5-mini", &model.Usage{}, new(int64(0))},
		"a price of zero is known":                            {"free-model", usage, new(int64(0))},
		"an unknown model has no price":                       {"claude", usage, nil},
		"an unknown usage has no price":                       {"gpt-5", nil, nil},
		"a model with only one price has none":                {"half", usage, nil},
		"beyond int64 it is the largest":                      {"gpt", &model.Usage{PromptTokens: math.MaxInt64, CompletionTokens: math.MaxInt64}, new(int64(math.MaxInt64))},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, findPrice(prices(), tc.model).Cost(tc.usage)); diff != "" {
				t.Errorf("cost (-want +got):\n%s", diff)
			}
		})
	}
}

func TestContextOfAModel(t *testing.T) {
	for name, want := range map[string]int64{"gpt-5-mini": 400_000, "gpt-5": model.DefaultContextTokens, "other": model.DefaultContextTokens} {
		if got := prices().ContextTokens(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// TestCostAgreesWithBigNumbers compares the cost with the same sum in big integers.
func TestCostAgreesWithBigNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Int64Range(0, math.MaxInt64)
		price := model.Price{
			InputMicrosPerMillion: new(number.Draw(t, "input")), CachedInputMicrosPerMillion: new(number.Draw(t, "cachedInput")),
			CacheWriteMicrosPerMillion: new(number.Draw(t, "cacheWrite")), OutputMicrosPerMillion: new(number.Draw(t, "output")),
		}
		usage := &model.Usage{PromptTokens: number.Draw(t, "prompt"), CompletionTokens: number.Draw(t, "completion")}
		usage.CachedTokens = rapid.Int64Range(0, usage.PromptTokens).Draw(t, "cached")
		usage.CacheWriteTokens = rapid.Int64Range(0, usage.PromptTokens-usage.CachedTokens).Draw(t, "written")

		product := func(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }
		sum := product(usage.PromptTokens-usage.CachedTokens-usage.CacheWriteTokens, *price.InputMicrosPerMillion)
		sum.Add(sum, product(usage.CachedTokens, *price.CachedInputMicrosPerMillion))
		sum.Add(sum, product(usage.CacheWriteTokens, *price.CacheWriteMicrosPerMillion))
		sum.Add(sum, product(usage.CompletionTokens, *price.OutputMicrosPerMillion))
		sum.Add(sum, big.NewInt(999_999))
		sum.Div(sum, big.NewInt(1_000_000))
		want := int64(math.MaxInt64)
		if sum.IsInt64() {
			want = sum.Int64()
		}
		if got := *price.Cost(usage); got != want {
			t.Fatalf("cost is %d, want %d", got, want)
		}
	})
}

// TestMaxCostCoversEveryCall compares a reservation with the cost of any usage of the same tokens.
func TestMaxCostCoversEveryCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price := rapid.Ptr(rapid.Int64Range(0, 1_000_000_000), true)
		list := model.Prices{{Name: "m", InputMicrosPerMillion: new(rapid.Int64Range(0, 1_000_000_000).Draw(t, "input")), CachedInputMicrosPerMillion: price.Draw(t, "cached"),
			CacheWriteMicrosPerMillion: price.Draw(t, "write"), OutputMicrosPerMillion: new(rapid.Int64Range(0, 1_000_000_000).Draw(t, "output"))}}
		prompt, completion := rapid.Int64Range(0, 1_000_000).Draw(t, "prompt"), rapid.Int64Range(0, 1_000_000).Draw(t, "completion")
		cached := rapid.Int64Range(0, prompt).Draw(t, "cached tokens")
		written := rapid.Int64Range(0, prompt-cached).Draw(t, "written tokens")
		cost := findPrice(list, "m").Cost(&model.Usage{PromptTokens: prompt, CachedTokens: cached, CacheWriteTokens: written, CompletionTokens: completion})
		if most := list.MaxCost("m", prompt, completion); *cost > *most {
			t.Fatalf("a call costs %d, and %d were reserved", *cost, *most)
		}
	})
	if (model.Prices{{Name: "half", OutputMicrosPerMillion: new(int64(1))}}).MaxCost("half", 1, 1) != nil {
		t.Error("a model without a price of input has a cost")
	}
}

func findPrice(list model.Prices, name string) model.Price {
	price, _ := list.Of(name)
	return price
}
