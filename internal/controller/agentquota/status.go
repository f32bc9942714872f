// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentquota

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/conditions"
	"github.com/nestor-dev/nestor/internal/controller/backend"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/money"
)

// statusOf returns the status of a quota. It reports false if the usage was not counted for its current spec.
func statusOf(object *v1beta1.AgentQuota, usage []engine.QuotaUsage, now time.Time) (v1beta1.AgentQuotaStatus, bool) {
	q := backend.QuotaOf(object)
	i := slices.IndexFunc(usage, func(u engine.QuotaUsage) bool { return u.Quota == q })
	if i < 0 {
		return v1beta1.AgentQuotaStatus{}, false
	}
	used, count := usage[i], usage[i].Count
	reset := metav1.NewTime(q.Period.End(now))
	next := v1beta1.AgentQuotaStatus{ObservedGeneration: object.Generation, ActiveAgents: int32(used.Active), ResetTime: &reset,
		Conditions: object.Status.Conditions}
	if q.MaxTokens > 0 {
		next.Used.Tokens = new(count.Tokens)
		next.Remaining.Tokens = new(max(0, q.MaxTokens-count.Tokens-count.ReservedTokens))
	}
	if q.MaxCostMicros > 0 && count.Currency != money.Several {
		remaining := max(0, q.MaxCostMicros-count.CostMicros-count.ReservedCostMicros)
		next.Used.CostMicros, next.Used.Currency = new(count.CostMicros), count.Currency
		next.Remaining.CostMicros, next.Remaining.Currency = &remaining, count.Currency
	}
	next.Conditions = conditions.Set(next.Conditions, "AgentQuota", condition(object.Generation, used), metav1.NewTime(now))
	return next, true
}

// condition returns the Ready condition of a quota, with the number of waiting runs.
func condition(generation int64, used engine.QuotaUsage) metav1.Condition {
	if used.Waiting == 0 {
		return status.Ready(generation, "No run waits for this quota.")
	}
	c := status.Ready(generation, fmt.Sprintf("%d runs wait for this quota. They continue when it resets or is raised.", used.Waiting))
	c.Reason = v1beta1.ReasonQuotaExhausted
	return c
}
