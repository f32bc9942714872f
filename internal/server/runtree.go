// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// treeReader reads one resource of a standalone task's tree for an objectSource. The label that selects the tree contains the UID of the task,
// and the task itself does not have it: so each watch has the task beside the tree, and ends if another task gets that name.
type treeReader struct {
	task    string
	tasks   objectReader
	objects objectReader
	isTasks bool // the task belongs to the objects

	root types.UID // at the last list; empty without a task
}

func newTreeReader(client dynamic.Interface, namespace, task, resource string) *treeReader {
	in := func(resource string) objectReader {
		return client.Resource(nestorResource(resource)).Namespace(namespace)
	}
	return &treeReader{task: task, tasks: in(tasks), objects: in(resource), isTasks: resource == tasks}
}

func (t *treeReader) rootSelector() metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", t.task).String()}
}

func (t *treeReader) treeSelector(options metav1.ListOptions) metav1.ListOptions {
	options.LabelSelector = labels.Set{v1beta1.LabelRoot: string(t.root)}.String()
	return options
}

// List returns a page of the tree, the first one with the task.
func (t *treeReader) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if options.Continue != "" {
		return t.objects.List(ctx, t.treeSelector(options))
	}
	roots, err := t.tasks.List(ctx, t.rootSelector())
	if err != nil {
		return nil, err
	}
	if len(roots.Items) == 0 {
		t.root = ""
		return roots, nil
	}
	t.root = roots.Items[0].GetUID()
	below, err := t.objects.List(ctx, t.treeSelector(options))
	if err == nil && t.isTasks {
		below.Items = append(roots.Items, below.Items...)
	}
	return below, err
}

// Watch returns the changes of the tree since the last list. It ends with an expired position: changes of the task and of what is below it
// have no common order, so there is no position to continue from.
func (t *treeReader) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	root, err := t.tasks.Watch(ctx, t.rootSelector())
	if err != nil {
		return nil, err
	}
	var below watch.Interface = watch.NewFake() // without a task nothing is below it
	if t.root != "" {
		if below, err = t.objects.Watch(ctx, t.treeSelector(options)); err != nil {
			root.Stop()
			return nil, err
		}
	}
	merged := &treeWatch{root: root, below: below, changes: make(chan watch.Event), stopped: make(chan struct{})}
	go merged.run(t.root, t.isTasks)
	return merged, nil
}

// treeWatch merges the watch of a task with that of its tree.
type treeWatch struct {
	root, below watch.Interface
	changes     chan watch.Event
	stopped     chan struct{}
}

func (w *treeWatch) ResultChan() <-chan watch.Event { return w.changes }

func (w *treeWatch) Stop() { close(w.stopped) }

// run forwards changes until a watch ends or a task with another UID appears.
func (w *treeWatch) run(root types.UID, withRoot bool) {
	defer close(w.changes)
	defer w.root.Stop()
	defer w.below.Stop()
	for {
		select {
		case <-w.stopped:
			return
		case change, open := <-w.below.ResultChan():
			if !open {
				w.expire()
				return
			}
			w.send(change)
		case change, open := <-w.root.ResultChan():
			if object, ok := change.Object.(*unstructured.Unstructured); !open || !ok || object.GetUID() != root {
				w.expire()
				return
			}
			if withRoot {
				w.send(change)
			}
		}
	}
}

func (w *treeWatch) send(change watch.Event) {
	select {
	case w.changes <- change:
	case <-w.stopped:
	}
}

func (w *treeWatch) expire() {
	status := apierrors.NewResourceExpired("the watch of the tree has ended").Status()
	w.send(watch.Event{Type: watch.Error, Object: &status})
}
