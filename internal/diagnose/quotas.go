// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// Exhausted lists the quotas of a namespace that runs wait for.
func Exhausted(ctx context.Context, api client.Reader, namespace string) ([]v1alpha1.AgentQuota, error) {
	var list v1alpha1.AgentQuotaList
	if err := api.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the quotas of namespace %s: %w", namespace, err)
	}
	var exhausted []v1alpha1.AgentQuota
	for _, q := range list.Items {
		if c := meta.FindStatusCondition(q.Status.Conditions, v1alpha1.ConditionReady); c != nil && c.Reason == v1alpha1.ReasonQuotaExhausted {
			exhausted = append(exhausted, q)
		}
	}
	return exhausted, nil
}

// quotas reports the exhausted quotas that block runs. A user who may not list quotas gets no finding here; another check reports missing
// permissions.
func (t Target) quotas(ctx context.Context) []Finding {
	exhausted, err := Exhausted(ctx, t.API, t.Namespace)
	if err != nil {
		return nil
	}
	var findings []Finding
	for _, q := range exhausted {
		c := meta.FindStatusCondition(q.Status.Conditions, v1alpha1.ConditionReady)
		finding := found("quota", Warning, "the AgentQuota %s is used up: %s", q.Name, c.Message)
		if q.Status.ResetTime != nil {
			finding = finding.advise("It resets at %s. To continue sooner, raise it: kubectl edit agentquota %s -n %s",
				q.Status.ResetTime.UTC().Format("2006-01-02 15:04 MST"), q.Name, t.Namespace)
		}
		findings = append(findings, finding)
	}
	return findings
}
