// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/ledger"
)

func TestPeriodsAreCalendarPeriodsInUTC(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	at := time.Date(2028, time.March, 1, 0, 30, 0, 0, berlin) // in UTC this is the last hour of February in a leap year
	for period, want := range map[Period][2]string{
		Hour:  {"2028-02-29T23:00:00Z", "2028-03-01T00:00:00Z"},
		Day:   {"2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z"},
		Month: {"2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
	} {
		if got := [2]string{period.Start(at).Format(time.RFC3339), period.End(at).Format(time.RFC3339)}; got != want {
			t.Errorf("%s is %v, want %v", period, got, want)
		}
	}
}

func TestPeriodsFollowEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0)
		period := rapid.SampledFrom([]Period{Hour, Day, Month}).Draw(t, "period")
		start, end := period.Start(at), period.End(at)
		if at.Before(start) || !at.Before(end) || !period.Start(end).Equal(end) || !period.Start(end.Add(-1)).Equal(start) {
			t.Fatalf("%s of %s is from %s to %s", period, at, start, end)
		}
		if !start.Equal(start.Truncate(time.Hour)) {
			t.Fatalf("%s does not start at a full hour", start)
		}
	})
}

func TestLongestWaitNamesTheQuota(t *testing.T) {
	at := time.Date(2026, time.November, 15, 20, 30, 0, 0, time.UTC)
	quotas := []Quota{{Name: "hourly", Period: Hour, MaxTokens: 100}, {Name: "daily", Period: Day, MaxTokens: 200}, {Name: "money", Period: Month, MaxCostMicros: 10_000_000}}
	counts := []ledger.QuotaCount{{Tokens: 90}, {Tokens: 150, ReservedTokens: 45}, {CostMicros: 1_000_000, Currency: "USD"}}
	for name, tc := range map[string]struct {
		call ledger.QuotaCall
		want []string // none: it fits
	}{
		"fits":            {ledger.QuotaCall{Tokens: 5, CostMicros: 9_000_000, Currency: "USD"}, nil},
		"beyond both":     {ledger.QuotaCall{Tokens: 20}, []string{"AgentQuota daily (Day): 150 of 200 tokens are used, 45 are reserved, and the next call may need 20", "2026-11-16T00:00:00Z"}},
		"beyond the cost": {ledger.QuotaCall{Tokens: 1, CostMicros: 10_000_000, Currency: "USD"}, []string{"AgentQuota money (Month)", "$1.00 of $10.00 are used", "2026-12-01T00:00:00Z"}},
		"other currency":  {ledger.QuotaCall{Tokens: 1, CostMicros: 1, Currency: "EUR"}, []string{"counts in USD since the first call", "is in EUR", "2026-12-01T00:00:00Z"}},
		"never":           {ledger.QuotaCall{Tokens: 201}, []string{"more than the quota allows at all"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, exceeded := LongestWait(quotas, counts, tc.call, at)
			if exceeded != (tc.want != nil) {
				t.Fatalf("exceeded is %v: %s", exceeded, found.Message)
			}
			for _, words := range tc.want {
				if !strings.Contains(found.Message, words) {
					t.Errorf("%q does not contain %q", found.Message, words)
				}
			}
		})
	}
}
