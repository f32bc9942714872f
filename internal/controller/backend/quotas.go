// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/quota"
)

// Quotas reads the AgentQuotas of namespaces from a cache.
type Quotas struct{ Reader client.Reader }

func (q Quotas) Quotas(ctx context.Context, namespace string) ([]quota.Quota, error) {
	var list v1beta1.AgentQuotaList
	if err := q.Reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the AgentQuotas of namespace %s: %w", namespace, err)
	}
	var quotas []quota.Quota
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			quotas = append(quotas, QuotaOf(&list.Items[i]))
		}
	}
	slices.SortFunc(quotas, func(a, b quota.Quota) int { return strings.Compare(a.Name, b.Name) })
	return quotas, nil
}

func QuotaOf(object *v1beta1.AgentQuota) quota.Quota {
	return quota.Quota{
		Name: object.Name, Period: quota.Period(object.Spec.Period), MaxTokens: ptr.Deref(object.Spec.MaxTokens, 0),
		MaxCostMicros: ptr.Deref(object.Spec.MaxCostMicros, 0), MaxActiveAgents: int(ptr.Deref(object.Spec.MaxActiveAgents, 0)),
	}
}
