// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/trigger"
)

// triggers gives webhooks the triggers of the cluster, from the cache: requests that are not authenticated must not cause requests to the
// API server.
type triggers struct {
	operator *Operator
	finder   resolve.Finder
}

func (o *Operator) triggers() triggers {
	return triggers{o, resolve.Finder{Reader: o.manager.GetClient(), Live: o.manager.GetAPIReader(), OperatorNamespace: o.options.Controllers.OperatorNamespace, Secrets: &resolve.Secrets{}}}
}

func (t triggers) Trigger(ctx context.Context, name types.NamespacedName) (*v1beta1.AgentTrigger, error) {
	trigger := &v1beta1.AgentTrigger{}
	if err := t.operator.manager.GetClient().Get(ctx, name, trigger); err != nil {
		return nil, err
	}
	return trigger, nil
}

func (t triggers) Secret(ctx context.Context, namespace string, ref v1beta1.SecretKeyRef) (string, error) {
	value, err := t.finder.Secret(ctx, namespace, ref)
	return string(value), err
}

func (t triggers) Fire(ctx context.Context, name types.NamespacedName, uid types.UID, f trigger.Firing) (trigger.Decision, error) {
	return t.operator.controllers.Triggers.Fire(ctx, name, uid, f)
}
