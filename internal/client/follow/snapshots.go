// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/view"
)

// Cluster is the connection to an API server.
type Cluster struct {
	Config *rest.Config
	Scheme *runtime.Scheme
	Mapper meta.RESTMapper
}

func kinds() []client.Object {
	return []client.Object{&v1beta1.AgentChat{}, &v1beta1.AgentMessage{}, &v1beta1.AgentTask{}, &v1beta1.SubAgent{}}
}

// Watch returns snapshots of a scope, the first at once, until ctx ends; then it closes the channel. A slow reader
// skips snapshots, but never the newest. Missing permissions are returned as an error; a lost connection is reported
// in the snapshots.
func Watch(ctx context.Context, cluster Cluster, scope Scope) (<-chan view.Snapshot, error) {
	var err error
	w := &watcher{scope: scope, changed: make(chan struct{}, 1)}
	if w.api, err = client.New(cluster.Config, client.Options{Scheme: cluster.Scheme, Mapper: cluster.Mapper}); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	if err := w.checkAccess(ctx); err != nil {
		return nil, err
	}
	byObject := map[client.Object]cache.ByObject{}
	for _, kind := range kinds() {
		byObject[kind] = cache.ByObject{Label: scope.selector()}
		if _, isChat := kind.(*v1beta1.AgentChat); isChat {
			byObject[kind] = cache.ByObject{Label: labels.Everything(), Field: scope.chatField()}
		}
	}
	w.cache, err = cache.New(cluster.Config, cache.Options{
		Scheme: cluster.Scheme, Mapper: cluster.Mapper, ByObject: byObject, DefaultWatchErrorHandler: w.onWatchError,
		DefaultNamespaces: map[string]cache.Config{scope.Namespace: {}},
	})
	if err != nil {
		return nil, fmt.Errorf("watch the chat: %w", err)
	}
	return w.start(ctx)
}

type watcher struct {
	scope   Scope
	api     client.Client
	cache   cache.Cache
	changed chan struct{}
	err     atomic.Pointer[error]
}

// checkAccess lists one object of each kind, because a forbidden watch is retried forever without an error.
func (w *watcher) checkAccess(ctx context.Context) error {
	_, err := read(ctx, w.api, func(list client.ObjectList) []client.ListOption {
		return append(w.scope.options(list), client.Limit(1))
	})
	return err
}

func (w *watcher) start(ctx context.Context) (<-chan view.Snapshot, error) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_ = w.cache.Start(ctx) // it returns when ctx ends
	}()
	for _, kind := range kinds() {
		informer, err := w.cache.GetInformer(ctx, kind)
		if err != nil {
			cancel()
			return nil, fmt.Errorf("watch the chat: %w", err)
		}
		notify := func() { w.notifyChanged() }
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
		})
		if err != nil {
			cancel()
			return nil, fmt.Errorf("watch the chat: %w", err)
		}
	}
	if !w.cache.WaitForCacheSync(ctx) {
		cancel()
		return nil, fmt.Errorf("watch the chat: %w", context.Cause(ctx))
	}
	snapshots := make(chan view.Snapshot, 1)
	w.notifyChanged()
	go w.publish(ctx, snapshots)
	return snapshots, nil
}

func (w *watcher) notifyChanged() {
	select {
	case w.changed <- struct{}{}:
	default: // the next snapshot will include this change
	}
}

// publish sends a snapshot after each change, and replaces one that was not received yet.
func (w *watcher) publish(ctx context.Context, out chan view.Snapshot) {
	defer close(out)
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.changed:
		}
		snapshot, err := w.snapshot(ctx)
		if err != nil {
			return // the cache has stopped
		}
		select {
		case <-out:
		default:
		}
		out <- snapshot
	}
}

func (w *watcher) snapshot(ctx context.Context) (view.Snapshot, error) {
	s, err := read(ctx, w.cache, func(client.ObjectList) []client.ListOption {
		return []client.ListOption{client.InNamespace(w.scope.Namespace)} // the cache holds only the scope
	})
	if err := w.err.Load(); err != nil {
		s.Err = *err
	}
	return s, err
}

// onWatchError handles the end of a watch. The reflector restarts it; until the server responds, snapshots carry the error.
func (w *watcher) onWatchError(ctx context.Context, _ *toolscache.Reflector, err error) {
	if err == nil || errors.Is(err, io.EOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || ctx.Err() != nil {
		return // watches expire regularly
	}
	if w.err.Swap(&err) != nil {
		return // a probe is running
	}
	w.notifyChanged()
	go w.probe(ctx)
}
