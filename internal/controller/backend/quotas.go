// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
	var found []quota.Quota
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			found = append(found, QuotaOf(&list.Items[i]))
		}
	}
	slices.SortFunc(found, func(a, b quota.Quota) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

func QuotaOf(object *v1beta1.AgentQuota) quota.Quota {
	q := quota.Quota{Name: object.Name, Period: quota.Period(object.Spec.Period)}
	if n := object.Spec.MaxTokens; n != nil {
		q.MaxTokens = *n
	}
	if n := object.Spec.MaxCostMicros; n != nil {
		q.MaxCostMicros = *n
	}
	if n := object.Spec.MaxActiveAgents; n != nil {
		q.MaxActiveAgents = int(*n)
	}
	return q
}
