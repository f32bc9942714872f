// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// absenceTTL is how long a list of existing objects is trusted. The cache catches up within that time.
const absenceTTL = 2 * time.Second

// Absences confirms with a live read that an object missing from the cache does not exist. The caches of different
// kinds are not synchronized: a chat may appear before a role that was created earlier. An agent keeps the
// configuration it starts with, so it must not start without an object that is older than its chat or standalone task.
//
// A live read lists the names of one kind in one namespace, and all lookups share it for a short time. Objects created
// after the read started do not use it: see Begin.
type Absences struct {
	mu        sync.Mutex
	lists     map[listKey]*nameList
	notBefore map[string]time.Time // by the namespace of the referring object
}

type listKey struct{ kind, namespace string }

// nameList is a list of the objects of one kind in one namespace, read at a given time.
type nameList struct {
	mu    sync.Mutex
	at    time.Time
	exist map[string]bool
}

// invalidateBefore makes lookups for a namespace ignore lists that were read before now.
func (a *Absences) invalidateBefore(namespace string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.notBefore == nil {
		a.notBefore = map[string]time.Time{}
	}
	for other, at := range a.notBefore {
		if time.Since(at) >= absenceTTL { // every list that old has expired
			delete(a.notBefore, other)
		}
	}
	a.notBefore[namespace] = time.Now()
}

// exists reports whether an object exists, for a referring object in the namespace referrer.
func (a *Absences) exists(ctx context.Context, live client.Reader, referrer, kind string, name types.NamespacedName) (bool, error) {
	list, since := a.list(referrer, listKey{kind, name.Namespace})
	list.mu.Lock() // concurrent lookups share the next list
	defer list.mu.Unlock()
	if list.at.Before(since) || time.Since(list.at) >= absenceTTL {
		at := time.Now()
		exist, err := readNames(ctx, live, kind, name.Namespace)
		if err != nil {
			return false, err
		}
		list.at, list.exist = at, exist
	}
	return list.exist[name.Name], nil
}

// list returns the shared list for a key, and the time that it must not be older than.
func (a *Absences) list(referrer string, where listKey) (*nameList, time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list, ok := a.lists[where]
	if !ok {
		if a.lists == nil {
			a.lists = map[listKey]*nameList{}
		}
		list = &nameList{}
		a.lists[where] = list
	}
	return list, a.notBefore[referrer]
}

func readNames(ctx context.Context, live client.Reader, kind, namespace string) (map[string]bool, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(v1beta1.GroupVersion.WithKind(kind + "List"))
	if err := live.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the objects of kind %s in %s: %w", kind, namespace, err)
	}
	exist := make(map[string]bool, len(list.Items))
	for i := range list.Items {
		exist[list.Items[i].Name] = true
	}
	return exist, nil
}

// Begin must be called before a chat or standalone task starts. It ensures that later lookups for the namespace find
// every object that exists now.
func (f Finder) Begin(namespace string) {
	if f.Absent != nil {
		f.Absent.invalidateBefore(namespace)
	}
}

// Find reads an object that an agent was started with, from the cache, or from the API server if the cache does not
// have it. The agent may have been started with an object that the cache has not received, and ends if the object was
// deleted.
func (f Finder) Find(ctx context.Context, name types.NamespacedName, object client.Object) error {
	err := f.Reader.Get(ctx, name, object)
	if apierrors.IsNotFound(err) {
		return f.Live.Get(ctx, name, object)
	}
	return err
}

// get reads an object from the cache, or from the API server if it exists but is not in the cache.
func (f Finder) get(ctx context.Context, referrer string, name types.NamespacedName, object client.Object) error {
	err := f.Reader.Get(ctx, name, object)
	if f.Absent == nil || !apierrors.IsNotFound(err) {
		return err
	}
	exists, failure := f.Absent.exists(ctx, f.Live, referrer, kindName(object), name)
	if failure != nil {
		return failure
	}
	if !exists {
		return err
	}
	return f.Live.Get(ctx, name, object)
}
