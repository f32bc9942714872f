// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine/exchange"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// maxCost returns the cost to reserve for a call and its currency, which is empty if the price is unknown. An agent
// that started before its model had a price reserves at the current price.
func (a *actor) maxCost(record ledger.Agent, call plannedCall, e agent.CallModel) (costMicros int64, currency string) {
	if e.Reserve.Currency != "" {
		return e.Reserve.CostMicros, e.Reserve.Currency
	}
	endpoint, err := a.engine.options.Models.Endpoint(a.engine.ctx, record, call.provider)
	if err != nil {
		return 0, ""
	}
	prompt := exchange.PromptTokens(e.Reserve, call.request.MaxOutputTokens)
	cost := endpoint.Prices.MaxCost(endpoint.Model, prompt, e.Reserve.Tokens-prompt)
	if cost == nil {
		return 0, ""
	}
	return *cost, endpoint.Prices.Currency(endpoint.Model)
}

// checkCurrency returns an error if a cost limit applies to a call, and the endpoint's price is not in the currency of
// the call's reservation. The currencies can differ because a fallback has other prices, or because the provider's
// prices changed while the call waited.
func (a *actor) checkCurrency(
	record ledger.Agent, call plannedCall, e agent.CallModel, provider string, endpoint Endpoint,
) error {
	actual := endpoint.Prices.Currency(endpoint.Model)
	_, reserved := a.maxCost(record, call, e)
	if actual != "" && actual == reserved {
		return nil
	}
	limit, err := a.engine.admission.CostLimit(record, a.engine.budgets)
	if err != nil || limit == "" {
		return err
	}
	if reserved == "" {
		reserved = "a currency that is not known yet"
	}
	price := "has no price of " + endpoint.Model
	if actual != "" {
		price = "has prices in " + actual
	}
	return fmt.Errorf("the ModelProvider %s was not used: %s counts maxCostMicros in %s, and the provider %s; "+
		"give a provider and its fallbacks prices in one currency, or remove the limit", provider, limit, reserved, price)
}
