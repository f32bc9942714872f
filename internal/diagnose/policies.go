// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/policy"
)

// failedPolicies reports the policies whose expressions failed on calls of the namespace, as far back as Events go.
func (t Target) failedPolicies(ctx context.Context) []Finding {
	var events corev1.EventList
	failed := client.MatchingFields{"reason": policy.EventFailed}
	err := t.API.List(ctx, &events, client.InNamespace(t.Namespace), failed, client.Limit(pageSize))
	switch {
	case apierrors.IsForbidden(err):
		return []Finding{finding("policy", Unknown, "you may not list Events, which name the ToolPolicies whose expressions fail")}
	case err != nil:
		return []Finding{finding("policy", Unknown, "list the Events that name ToolPolicies whose expressions fail: %s", err)}
	}
	var findings []Finding
	var named []corev1.ObjectReference
	for _, e := range events.Items {
		if e.Related == nil || slices.ContainsFunc(named, func(r corev1.ObjectReference) bool {
			return r.Namespace == e.Related.Namespace && r.Name == e.Related.Name
		}) {
			continue
		}
		p, run := *e.Related, e.InvolvedObject.Name
		named = append(named, p)
		f := finding("policy", Warning, "an expression of the ToolPolicy %s/%s failed on a call of %s", p.Namespace, p.Name, run)
		findings = append(findings, f.advise("kubectl nestor policy explain %s -n %s shows the error.", run, t.Namespace))
	}
	return findings[:min(len(findings), maxAlike)]
}
