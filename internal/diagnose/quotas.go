// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Exhausted lists the quotas of a namespace that runs wait for.
func Exhausted(ctx context.Context, api client.Reader, namespace string) ([]v1beta1.AgentQuota, error) {
	var list v1beta1.AgentQuotaList
	if err := api.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the quotas of namespace %s: %w", namespace, err)
	}
	var exhausted []v1beta1.AgentQuota
	for _, q := range list.Items {
		if c := meta.FindStatusCondition(q.Status.Conditions, v1beta1.ConditionReady); c != nil && c.Reason == v1beta1.ReasonQuotaExhausted {
			exhausted = append(exhausted, q)
		}
	}
	return exhausted, nil
}
