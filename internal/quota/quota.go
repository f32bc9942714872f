// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Quota is an AgentQuota of a namespace. A limit of 0 is none.
type Quota struct {
	Name                     string
	Period                   Period
	MaxTokens, MaxCostMicros int64
	MaxActiveAgents          int
}

// Limits are what the ledger must check, one for each quota in their order.
func Limits(quotas []Quota, at time.Time) []ledger.QuotaLimit {
	limits := make([]ledger.QuotaLimit, len(quotas))
	for i, q := range quotas {
		limits[i] = ledger.QuotaLimit{Since: q.Period.Start(at), Tokens: q.MaxTokens, CostMicros: q.MaxCostMicros}
	}
	return limits
}

// CountsCalls says whether any of the quotas limits what model calls use.
func CountsCalls(quotas []Quota) bool {
	return slices.ContainsFunc(quotas, func(q Quota) bool { return q.MaxTokens > 0 || q.MaxCostMicros > 0 })
}

// NeedsPrice returns a quota that limits money, if there is one.
func NeedsPrice(quotas []Quota) (Quota, bool) {
	i := slices.IndexFunc(quotas, func(q Quota) bool { return q.MaxCostMicros > 0 })
	if i < 0 {
		return Quota{}, false
	}
	return quotas[i], true
}

// ActiveLimit returns the quota that allows the fewest active agents, if one limits them.
func ActiveLimit(quotas []Quota) (Quota, bool) {
	var least Quota
	for _, q := range quotas {
		if q.MaxActiveAgents > 0 && (least.MaxActiveAgents == 0 || q.MaxActiveAgents < least.MaxActiveAgents) {
			least = q
		}
	}
	return least, least.MaxActiveAgents > 0
}

// Exceeded is a quota that does not allow a call, and what people are told about it.
type Exceeded struct {
	Quota   Quota
	Resets  time.Time
	Message string
}

// Find returns the quota that keeps a call waiting for longest. The counts are those of the quotas' limits. There is none if another
// call has just given back what was missing.
func Find(quotas []Quota, counts []ledger.QuotaCount, call ledger.QuotaCall, at time.Time) (Exceeded, bool) {
	var found Exceeded
	limits := Limits(quotas, at)
	for i, q := range quotas {
		if limits[i].Fits(counts[i], call) {
			continue
		}
		if resets := q.Period.End(at); resets.After(found.Resets) {
			found = Exceeded{Quota: q, Resets: resets, Message: describe(q, limits[i], counts[i], call, resets)}
		}
	}
	return found, found.Quota.Name != ""
}

func describe(q Quota, limit ledger.QuotaLimit, count ledger.QuotaCount, call ledger.QuotaCall, resets time.Time) string {
	var parts []string
	never := false
	if limit.Tokens > 0 && count.Tokens+count.ReservedTokens+call.Tokens > limit.Tokens {
		parts = append(parts, fmt.Sprintf("%d of %d tokens are used, %d are reserved, and the next call may need %d", count.Tokens, limit.Tokens, count.ReservedTokens, call.Tokens))
		never = call.Tokens > limit.Tokens
	}
	if limit.CostMicros > 0 && count.CostMicros+count.ReservedCostMicros+call.CostMicros > limit.CostMicros {
		parts = append(parts, fmt.Sprintf("%d of %d millionths of the currency are used, %d are reserved, and the next call may cost %d",
			count.CostMicros, limit.CostMicros, count.ReservedCostMicros, call.CostMicros))
		never = never || call.CostMicros > limit.CostMicros
	}
	text := fmt.Sprintf("AgentQuota %s (%s): %s. ", q.Name, q.Period, strings.Join(parts, "; "))
	if never {
		return text + "One call may need more than the quota allows at all: raise the quota, or lower maxOutputTokens of the role."
	}
	return text + fmt.Sprintf("It goes on when the quota resets at %s, or is raised.", resets.Format(time.RFC3339))
}

// PriceUnknown says what to do about a model without a price under a quota of money.
func PriceUnknown(q Quota, model, provider string) string {
	return fmt.Sprintf("AgentQuota %s limits maxCostMicros: add the prices of %s to models of the ModelProvider %s.", q.Name, model, provider)
}

// TooManyActive says why an agent that could be at work waits.
func TooManyActive(q Quota) string {
	return fmt.Sprintf("AgentQuota %s: %d sub-agents of the namespace are Active, which is the most (maxActiveAgents). It goes on when one of them ends or waits.",
		q.Name, q.MaxActiveAgents)
}
