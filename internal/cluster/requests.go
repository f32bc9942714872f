// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Requests lists cached objects and returns requests for those that selected returns true for. Until the cache is ready
// it returns none: the initial events of the cache enqueue every object.
func Requests[T client.Object](ctx context.Context, cache client.Reader, list client.ObjectList, selected func(T) bool,
	options ...client.ListOption,
) []reconcile.Request {
	if err := cache.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil
	}
	var requests []reconcile.Request
	_ = meta.EachListItem(list, func(item runtime.Object) error { // it fails only for an object that is no list
		if object, ok := item.(T); ok && selected(object) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
		}
		return nil
	})
	return requests
}
