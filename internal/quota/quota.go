// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/money"
)

// Quota is an AgentQuota of a namespace. A limit of 0 means no limit.
type Quota struct {
	Name                     string
	Period                   Period
	MaxTokens, MaxCostMicros int64
	MaxActiveAgents          int
}

// Limits returns the ledger limits of the quotas, in the same order.
func Limits(quotas []Quota, at time.Time) []ledger.QuotaLimit {
	limits := make([]ledger.QuotaLimit, len(quotas))
	for i, q := range quotas {
		limits[i] = ledger.QuotaLimit{Since: q.Period.Start(at), Tokens: q.MaxTokens, CostMicros: q.MaxCostMicros}
	}
	return limits
}

// CountsCalls reports whether any of the quotas limits the usage of model calls.
func CountsCalls(quotas []Quota) bool {
	return slices.ContainsFunc(quotas, func(q Quota) bool { return q.MaxTokens > 0 || q.MaxCostMicros > 0 })
}

// NeedsPrice returns a quota that limits cost, if there is one.
func NeedsPrice(quotas []Quota) (Quota, bool) {
	i := slices.IndexFunc(quotas, func(q Quota) bool { return q.MaxCostMicros > 0 })
	if i < 0 {
		return Quota{}, false
	}
	return quotas[i], true
}

// ActiveLimit returns the quota with the lowest limit of active agents, if there is one.
func ActiveLimit(quotas []Quota) (Quota, bool) {
	var least Quota
	for _, q := range quotas {
		if q.MaxActiveAgents > 0 && (least.MaxActiveAgents == 0 || q.MaxActiveAgents < least.MaxActiveAgents) {
			least = q
		}
	}
	return least, least.MaxActiveAgents > 0
}

// Exceeded is a quota that does not allow a call, with a message for people.
type Exceeded struct {
	Quota  Quota
	Resets time.Time
	// OtherCurrency reports that the quota counts in another currency than that of the call's price.
	OtherCurrency bool
	Message       string
}

// LongestWait returns the quota that delays a call the longest. counts are the counts for the limits of the quotas. It finds none
// if another call has just released its reservation.
func LongestWait(quotas []Quota, counts []ledger.QuotaCount, call ledger.QuotaCall, at time.Time) (Exceeded, bool) {
	var found Exceeded
	limits := Limits(quotas, at)
	for i, q := range quotas {
		if limits[i].Fits(counts[i], call) {
			continue
		}
		if resets := q.Period.End(at); resets.After(found.Resets) {
			other := q.MaxCostMicros > 0 && counts[i].PlusReserved(call).Currency == money.Several
			found = Exceeded{Quota: q, Resets: resets, OtherCurrency: other, Message: describe(q, limits[i], counts[i], call, resets)}
		}
	}
	return found, found.Quota.Name != ""
}

func describe(q Quota, limit ledger.QuotaLimit, count ledger.QuotaCount, call ledger.QuotaCall, resets time.Time) string {
	var parts []string
	never := false
	total := count.PlusReserved(call)
	if limit.Tokens > 0 && total.Tokens+total.ReservedTokens > limit.Tokens {
		parts = append(parts, fmt.Sprintf("%d of %d tokens are used, %d are reserved, and the next call may need %d", count.Tokens, limit.Tokens, count.ReservedTokens, call.Tokens))
		never = call.Tokens > limit.Tokens
	}
	switch in := func(micros int64) string { return money.Format(micros, call.Currency) }; {
	case limit.CostMicros == 0:
	case count.Currency == money.Several:
		parts = append(parts, "the calls of this period have prices in several currencies, which have no sum")
	case total.Currency == money.Several:
		parts = append(parts, fmt.Sprintf("maxCostMicros counts in %s since the first call of this period, and the price of the next call is in %s: "+
			"use ModelProviders with prices in one currency", count.Currency, call.Currency))
	case total.CostMicros+total.ReservedCostMicros > limit.CostMicros:
		parts = append(parts, fmt.Sprintf("%s of %s are used, %s are reserved, and the next call may cost %s",
			in(count.CostMicros), in(limit.CostMicros), in(count.ReservedCostMicros), in(call.CostMicros)))
		never = never || call.CostMicros > limit.CostMicros
	}
	text := fmt.Sprintf("AgentQuota %s (%s): %s. ", q.Name, q.Period, strings.Join(parts, "; "))
	if never {
		return text + "One call may need more than the quota allows at all: raise the quota, or lower maxOutputTokens of the role."
	}
	return text + fmt.Sprintf("It continues when the quota resets at %s, or is raised.", resets.Format(time.RFC3339))
}

// PriceUnknown returns the message for a model without a price under a cost quota.
func PriceUnknown(q Quota, model, provider string) string {
	return fmt.Sprintf("AgentQuota %s limits maxCostMicros: add the prices of %s to models of the ModelProvider %s.", q.Name, model, provider)
}

// TooManyActive returns the message for an agent that waits because too many are active.
func TooManyActive(q Quota) string {
	return fmt.Sprintf("AgentQuota %s: %d sub-agents of the namespace are Active, which is the most (maxActiveAgents). It continues when one of them ends or waits.",
		q.Name, q.MaxActiveAgents)
}
