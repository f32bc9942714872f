// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/status"
)

// checkSecret sets the condition of a webhook without a Secret: all its requests are refused.
func (r *Reconciler) checkSecret(ctx context.Context, t *v1beta1.AgentTrigger, next *v1beta1.AgentTriggerStatus) error {
	c := meta.FindStatusCondition(next.Conditions, v1beta1.ConditionReady)
	wasMissing := c != nil && c.Reason == v1beta1.ReasonSecretNotFound
	if t.Spec.Webhook == nil || !wasMissing && !meta.IsStatusConditionTrue(next.Conditions, v1beta1.ConditionReady) {
		return nil
	}
	_, err := r.Finder.Secret(ctx, t.Namespace, t.Spec.Webhook.SecretKeyRef)
	if condition, missing := status.FromMissing(t.Generation, err); missing {
		// The spec alone is ready: without the earlier time, every reconcile would be a transition, and a write.
		if before := meta.FindStatusCondition(t.Status.Conditions, v1beta1.ConditionReady); before != nil && before.Status == condition.Status {
			condition.LastTransitionTime = before.LastTransitionTime
		}
		setCondition(next, condition)
		return nil
	}
	if err == nil && wasMissing {
		setCondition(next, readiness(t, nil))
	}
	return err
}

// triggersUsingSecret returns the triggers whose webhooks are authenticated with a Secret.
func (r *Reconciler) triggersUsingSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	return cluster.Requests(ctx, r.Client, &v1beta1.AgentTriggerList{}, func(t *v1beta1.AgentTrigger) bool {
		return t.Spec.Webhook != nil && t.Spec.Webhook.SecretKeyRef.Name == secret.GetName()
	}, client.InNamespace(secret.GetNamespace()))
}
