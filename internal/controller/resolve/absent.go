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

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// absentFor is how long a list of the objects that exist is trusted: by then the cache has caught up.
const absentFor = 2 * time.Second

// Absent confirms with a live read that what the cache lacks does not exist. The caches of different kinds are not in order: a
// chat may be there before the role that was created before it. An agent keeps what it starts with, so it must not start without
// an object that existed before its chat or standalone task did.
//
// A live read is one list of names for a kind and a namespace, which all lookups share for a short time. It is not shared by what
// was created after it began: see Begin.
type Absent struct {
	mu    sync.Mutex
	lists map[place]*names
	begun map[string]time.Time // by the namespace that asks
}

type place struct{ kind, namespace string }

// names are the objects of a place as of a moment.
type names struct {
	mu    sync.Mutex
	at    time.Time
	exist map[string]bool
}

// begin makes lookups of a namespace disregard what was read before this moment.
func (a *Absent) begin(namespace string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun == nil {
		a.begun = map[string]time.Time{}
	}
	for other, at := range a.begun {
		if time.Since(at) >= absentFor { // no list is trusted for so long
			delete(a.begun, other)
		}
	}
	a.begun[namespace] = time.Now()
}

// exists says whether an object exists, for one that asks in a namespace.
func (a *Absent) exists(ctx context.Context, live client.Reader, asking, kind string, name types.NamespacedName) (bool, error) {
	list, since := a.list(asking, place{kind, name.Namespace})
	list.mu.Lock() // those who wait share the next list
	defer list.mu.Unlock()
	if list.at.Before(since) || time.Since(list.at) >= absentFor {
		at := time.Now()
		exist, err := readNames(ctx, live, kind, name.Namespace)
		if err != nil {
			return false, err
		}
		list.at, list.exist = at, exist
	}
	return list.exist[name.Name], nil
}

// list returns the names of a place, and how new they must be.
func (a *Absent) list(asking string, where place) (*names, time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list, ok := a.lists[where]
	if !ok {
		if a.lists == nil {
			a.lists = map[place]*names{}
		}
		list = &names{}
		a.lists[where] = list
	}
	return list, a.begun[asking]
}

func readNames(ctx context.Context, live client.Reader, kind, namespace string) (map[string]bool, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
	if err := live.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the objects of kind %s in %s: %w", kind, namespace, err)
	}
	exist := make(map[string]bool, len(list.Items))
	for i := range list.Items {
		exist[list.Items[i].Name] = true
	}
	return exist, nil
}

// Begin is called when a chat or a standalone task is about to start: from now on its namespace sees everything that existed before.
func (f Finder) Begin(namespace string) {
	if f.Absent != nil {
		f.Absent.begin(namespace)
	}
}

// get reads an object from the cache, or from the API server if only the cache lacks it.
func (f Finder) get(ctx context.Context, asking string, name types.NamespacedName, object client.Object) error {
	err := f.Reader.Get(ctx, name, object)
	if f.Absent == nil || !apierrors.IsNotFound(err) {
		return err
	}
	exists, failure := f.Absent.exists(ctx, f.Live, asking, kindOf(object), name)
	if failure != nil {
		return failure
	}
	if !exists {
		return err
	}
	return f.Live.Get(ctx, name, object)
}
