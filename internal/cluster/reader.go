// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Reader reads objects from a cache and from the API server.
type Reader struct {
	Cache, API client.Reader
}

// Find reads an object from the cache, or from the API server if the cache does not have it. Use it where "not found"
// has consequences: a stale cache does not prove that an object was deleted.
func (r Reader) Find(ctx context.Context, name types.NamespacedName, object client.Object) error {
	err := r.Observed(ctx, name, object)
	if apierrors.IsNotFound(err) {
		return r.API.Get(ctx, name, object)
	}
	return err
}

// TaskUID returns the engine UID of a task's work: its sub-agent's, or its own if it is one tool call. It is "" for a
// task without a sub-agent, which is confirmed with the API server.
func (r Reader) TaskUID(ctx context.Context, task *v1beta1.AgentTask) (string, error) {
	if task.Spec.Type == v1beta1.TaskTool {
		return string(task.UID), nil
	}
	sub, err := r.FindSubAgent(ctx, task)
	if err != nil || sub == nil {
		return "", err
	}
	return string(sub.UID), nil
}

// Live reads an object from the API server.
func (r Reader) Live(ctx context.Context, name types.NamespacedName, object client.Object) error {
	return r.API.Get(ctx, name, object)
}

// Cached reads an object from the cache.
func (r Reader) Cached(ctx context.Context, name types.NamespacedName, object client.Object) error {
	return r.Cache.Get(ctx, name, object)
}

// Observed is like Cached, but has no own write of an object that the cache does not have: the object may be new, or
// was deleted after the write. The API server has the answer.
func (r Reader) Observed(ctx context.Context, name types.NamespacedName, object client.Object) error {
	if own, ok := r.Cache.(*Client); ok {
		return own.getObserved(ctx, name, object)
	}
	return r.Cached(ctx, name, object)
}
