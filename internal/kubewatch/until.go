// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubewatch waits for objects of the API server with a watch.
package kubewatch

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrDeleted means that the object was deleted before or while Until waited for it.
var ErrDeleted = errors.New("the object was deleted")

// Until watches an object that exists until done reports true, and returns it. list is an empty list of the object's kind.
func Until[T client.Object](ctx context.Context, api client.WithWatch, object T, list client.ObjectList, done func(T) bool) (T, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	options := func(o metav1.ListOptions) []client.ListOption {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", object.GetName()).String()
		return []client.ListOption{client.InNamespace(object.GetNamespace()), &client.ListOptions{Raw: &o}}
	}
	source := &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.ResourceVersion = "" // the API server's cache may not contain an object that was just created
			fresh := list.DeepCopyObject().(client.ObjectList)
			err := api.List(ctx, fresh, options(o)...)
			if err == nil && meta.LenList(fresh) == 0 { // the deletion of an object that was never listed is no event
				stop(ErrDeleted)
			}
			return fresh, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return api.Watch(ctx, list.DeepCopyObject().(client.ObjectList), options(o)...)
		},
	}
	event, err := watchtools.UntilWithSync(ctx, listFirst{source}, object, nil, func(e watch.Event) (bool, error) {
		if e.Type == watch.Deleted {
			return false, ErrDeleted
		}
		current, ok := e.Object.(T)
		return ok && done(current), nil
	})
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return object, fmt.Errorf("wait for %s: %w", object.GetName(), err)
	}
	return event.Object.(T), nil
}

// listFirst makes a reflector list before it watches, although the API server could send the list as events.
type listFirst struct{ *toolscache.ListWatch }

// IsWatchListSemanticsUnSupported is called by the reflector.
func (listFirst) IsWatchListSemanticsUnSupported() bool { return true }
