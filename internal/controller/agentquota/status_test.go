// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentquota

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller/backend"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/money"
)

func TestStatusHasCostCurrency(t *testing.T) {
	limit := int64(100)
	object := &v1beta1.AgentQuota{ObjectMeta: metav1.ObjectMeta{Name: "money"}, Spec: v1beta1.AgentQuotaSpec{Period: v1beta1.QuotaDay, MaxCostMicros: &limit}}
	amount := func(micros int64, currency string) v1beta1.QuotaAmount {
		return v1beta1.QuotaAmount{CostMicros: &micros, Currency: currency}
	}
	for name, tc := range map[string]struct {
		count           ledger.QuotaCount
		used, remaining v1beta1.QuotaAmount
	}{
		"nothing used":       {ledger.QuotaCount{}, amount(0, ""), amount(100, "")},
		"euros":              {ledger.QuotaCount{CostMicros: 30, ReservedCostMicros: 20, Currency: "EUR"}, amount(30, "EUR"), amount(50, "EUR")},
		"several currencies": {ledger.QuotaCount{CostMicros: 30, Currency: money.Several}, v1beta1.QuotaAmount{}, v1beta1.QuotaAmount{}},
	} {
		got, ok := statusOf(object, []engine.QuotaUsage{{Quota: backend.QuotaOf(object), Count: tc.count}}, time.Now())
		if diff := cmp.Diff([]v1beta1.QuotaAmount{tc.used, tc.remaining}, []v1beta1.QuotaAmount{got.Used, got.Remaining}); !ok || diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
