// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// HasAnswered reports whether the caller has sent a message about a standalone task with this idempotency key.
func (c *Caller) HasAnswered(ctx context.Context, namespace, task, key string) (bool, error) {
	err := c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: c.name(task, namespace, "message/"+task, key)}, &v1alpha1.AgentMessage{})
	return err == nil, client.IgnoreNotFound(err)
}
