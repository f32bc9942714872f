// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/projection"
)

// showKept sets the condition WorkspaceChangesLost of a chat or task whose changes were not kept, and removes it for
// nil.
func (p *pods) showKept(ctx context.Context, owner client.Object, n *projection.NotKept) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object := owner.DeepCopyObject().(client.Object)
		if err := p.options.Live.Get(ctx, client.ObjectKeyFromObject(owner), object); err != nil {
			return client.IgnoreNotFound(err)
		}
		if object.GetUID() != owner.GetUID() {
			return nil // another one was created under the same name
		}
		next := object.DeepCopyObject().(client.Object)
		projection.ShowNotKept(next, n, p.options.Now())
		result, err := (&status.Writer{Client: p.options.Client}).Write(ctx, object, next, false)
		if err == nil && !result.IsZero() {
			return apierrors.NewConflict(schema.GroupResource{}, owner.GetName(), errors.New("the status was changed")) // so that it is repeated
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("show whether the workspace's changes are saved: %w", err)
	}
	return nil
}
