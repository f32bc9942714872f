// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/trigger"
)

// Watches are the watches of triggers. Triggers of the same namespace and kind share one.
type Watches struct {
	Dynamic dynamic.Interface
	Mapper  meta.RESTMapper
	// Client checks the operator's own permissions.
	Client client.Client
	// Wake reconciles a trigger.
	Wake func(types.NamespacedName)
	// Evaluations evaluates the conditions of triggers.
	Evaluations *Evaluator

	mu       sync.Mutex
	sources  map[place]*source
	watchers map[types.NamespacedName]*watcher
}

// place is a resource in a namespace.
type place struct {
	resource  schema.GroupVersionResource
	namespace string
}

// source is an informer that watchers share.
type source struct {
	place    place
	informer toolscache.SharedIndexInformer
	stop     chan struct{}
	users    int
	// failing is set while the watch fails.
	failing atomic.Bool
}

// problem is why a trigger cannot watch.
type problem struct{ reason, message string }

func (p *problem) Error() string { return p.message }

// of returns the watcher of a trigger, or a *problem. Failed is called with the errors of evaluations.
func (w *Watches) of(ctx context.Context, t *v1beta1.AgentTrigger, program *trigger.Program, failed func(error)) (*watcher, error) {
	name := client.ObjectKeyFromObject(t)
	w.mu.Lock()
	known := w.watchers[name]
	w.mu.Unlock()
	current := known != nil && known.uid == t.UID && known.generation == t.Generation && !known.isOutdated()
	if current && !known.source.failing.Load() {
		return known, nil
	}
	at, err := w.check(ctx, t)
	if err != nil {
		w.remove(name)
		return nil, err
	}
	if current {
		known.source.failing.Store(false) // the operator has the permission, and the watch is retried
		return known, nil
	}
	w.remove(name)
	return w.add(t, program, at, failed)
}

// check returns what a trigger watches, or a *problem.
func (w *Watches) check(ctx context.Context, t *v1beta1.AgentTrigger) (place, error) {
	version, err := schema.ParseGroupVersion(t.Spec.Watch.APIVersion)
	if err != nil {
		return place{}, &problem{v1beta1.ReasonKindNotFound, err.Error()}
	}
	kind := version.WithKind(t.Spec.Watch.Kind)
	mapping, err := w.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return place{}, &problem{v1beta1.ReasonKindNotFound, fmt.Sprintf("The API server has no kind %s in %s.", kind.Kind, version)}
	}
	if err != nil {
		return place{}, fmt.Errorf("find the resource of %s: %w", kind, err)
	}
	at := place{mapping.Resource, t.Namespace}
	switch {
	case mapping.Resource.GroupResource() == schema.GroupResource{Resource: "secrets"}:
		return place{}, &problem{v1beta1.ReasonWatchNotAllowed, "Secrets cannot be watched."}
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		return place{}, &problem{v1beta1.ReasonKindNotFound, fmt.Sprintf("Objects of the kind %s have no namespace, and a trigger watches objects of its own.", kind.Kind)}
	case mapping.Resource.Resource != trigger.Plural(kind.Kind):
		return place{}, &problem{v1beta1.ReasonKindNotFound, fmt.Sprintf("The resource of the kind %s is called %s instead of %s, so the permissions of the trigger's author could not be checked.",
			kind.Kind, mapping.Resource.Resource, trigger.Plural(kind.Kind))}
	}
	for _, verb := range []string{"list", "watch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: t.Namespace, Verb: verb, Group: at.resource.Group, Version: at.resource.Version, Resource: at.resource.Resource,
		}}}
		if err := w.Client.Create(ctx, review); err != nil {
			return place{}, fmt.Errorf("check whether the operator may %s %s: %w", verb, at.resource.Resource, err)
		}
		if !review.Status.Allowed {
			return place{}, &problem{v1beta1.ReasonWatchNotAllowed, fmt.Sprintf(
				`The operator is not allowed to %s %s in this namespace: add {apiGroups: [%q], resources: [%s]} to triggers.watch of its chart.`, verb, at.resource.Resource, at.resource.Group, at.resource.Resource)}
		}
	}
	return at, nil
}

func (w *Watches) add(t *v1beta1.AgentTrigger, program *trigger.Program, at place, failed func(error)) (*watcher, error) {
	name := client.ObjectKeyFromObject(t)
	added := &watcher{name: name, uid: t.UID, generation: t.Generation, program: program, failed: failed, evaluations: w.Evaluations,
		wake: func() { w.Wake(name) }, isTrue: map[string]bool{}, wasFalse: map[string]bool{}, undecided: map[string]bool{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watchers == nil {
		w.watchers, w.sources = map[types.NamespacedName]*watcher{}, map[place]*source{}
	}
	s := w.sources[at]
	if s == nil {
		s = w.start(at)
	}
	registration, err := s.informer.AddEventHandler(added)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", at.resource.Resource, err)
	}
	s.users++
	added.source, added.registration = s, registration
	w.watchers[name] = added
	go func() { // the first list may have nothing that wakes the trigger
		if toolscache.WaitForCacheSync(s.stop, registration.HasSynced) {
			w.Wake(name)
		}
	}()
	return added, nil
}

// start starts an informer. mu is locked.
func (w *Watches) start(at place) *source {
	s := &source{place: at, stop: make(chan struct{}),
		informer: dynamicinformer.NewFilteredDynamicInformer(w.Dynamic, at.resource, at.namespace, 0, toolscache.Indexers{}, nil).Informer()}
	// Setting these fails only for an informer that runs.
	_ = s.informer.SetTransform(stripManagedFields)
	_ = s.informer.SetWatchErrorHandlerWithContext(func(context.Context, *toolscache.Reflector, error) {
		if !s.failing.Swap(true) {
			w.wakeUsers(s)
		}
	})
	w.sources[at] = s
	go s.informer.Run(s.stop)
	return s
}

// wakeUsers reconciles the triggers that use a source, which show why it fails.
func (w *Watches) wakeUsers(s *source) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, user := range w.watchers {
		if user.source == s {
			w.Wake(name)
		}
	}
}

func stripManagedFields(object any) (any, error) {
	if o, ok := object.(*unstructured.Unstructured); ok {
		unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
	}
	return object, nil
}

// remove stops the watcher of a trigger.
func (w *Watches) remove(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	watcher := w.watchers[name]
	if watcher == nil {
		return
	}
	delete(w.watchers, name)
	_ = watcher.source.informer.RemoveEventHandler(watcher.registration) // it fails only for a foreign registration
	if watcher.source.users--; watcher.source.users == 0 {
		close(watcher.source.stop)
		delete(w.sources, watcher.source.place)
	}
}

// Close stops all watches.
func (w *Watches) Close(context.Context) error {
	w.mu.Lock()
	names := slices.Collect(maps.Keys(w.watchers))
	w.mu.Unlock()
	for _, name := range names {
		w.remove(name)
	}
	return nil
}
