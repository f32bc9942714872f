// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	rootSelector = "metadata.name=root"
	treeSelector = "nestor.dev/root="
)

// selectedObjects is an API server with one kind: its objects and watches by the selector that returns them.
type selectedObjects struct {
	mu      sync.Mutex
	objects map[string][]unstructured.Unstructured
	watches map[string]*watch.RaceFreeFakeWatcher
	opened  map[*watch.RaceFreeFakeWatcher]bool
}

func (s *selectedObjects) set(selector string, uids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[selector] = nil
	for _, uid := range uids {
		s.objects[selector] = append(s.objects[selector], *treeObject(uid))
	}
}

func (s *selectedObjects) List(_ context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &unstructured.UnstructuredList{Items: slices.Clone(s.objects[options.FieldSelector+options.LabelSelector])}
	list.SetResourceVersion("1")
	return list, nil
}

func (s *selectedObjects) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	watching := s.watch(options.FieldSelector + options.LabelSelector)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened[watching] = true
	return watching, nil
}

// watch returns the watch with a selector that a source has open or opens next.
func (s *selectedObjects) watch(selector string) *watch.RaceFreeFakeWatcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watches[selector]; w == nil || s.opened[w] && w.IsStopped() {
		s.watches[selector] = watch.NewRaceFreeFake()
	}
	return s.watches[selector]
}

func treeObject(uid string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetUID(types.UID(uid))
	object.SetResourceVersion("1")
	return object
}

// followTree follows one resource of the tree of the task "root". The function that it returns reads events up to and with last.
func followTree(t *testing.T, tasks, objects *selectedObjects, isTasks bool) func(last string) []string {
	t.Helper()
	out := newEventBuffer(bufferLimit)
	reader := &treeReader{task: "root", tasks: tasks, objects: objects, isTasks: isTasks}
	source := &objectSource{resource: "objects", client: reader, out: out, retry: retryPolicy{}}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = source.follow(ctx, "") })
	t.Cleanup(func() { cancel(); running.Wait() })
	return func(last string) []string {
		t.Helper()
		var events []string
		for !slices.Contains(events, last) {
			for _, e := range out.take(t.Context()) {
				var data struct {
					Type   string
					Object struct{ Metadata struct{ UID string } }
				}
				if err := json.Unmarshal(e.data, &data); err != nil {
					t.Fatal(err)
				}
				events = append(events, strings.TrimSpace(e.name+" "+data.Type+" "+data.Object.Metadata.UID))
			}
		}
		return events
	}
}

func newSelectedObjects() *selectedObjects {
	return &selectedObjects{
		objects: map[string][]unstructured.Unstructured{}, watches: map[string]*watch.RaceFreeFakeWatcher{}, opened: map[*watch.RaceFreeFakeWatcher]bool{},
	}
}

func TestRunIsSentWithDescendants(t *testing.T) {
	t.Parallel()
	tasks := newSelectedObjects()
	tasks.set(rootSelector, "a")
	tasks.set(treeSelector+"a", "child", "grandchild")
	tasks.set(treeSelector+"b", "foreign")
	read := followTree(t, tasks, tasks, true)
	want := []string{"reset", "object ADDED a", "object ADDED child", "object ADDED grandchild", "synced"}
	if diff := cmp.Diff(want, read("synced")); diff != "" {
		t.Error(diff)
	}
	tasks.watch(treeSelector + "a").Modify(treeObject("child"))
	if diff := cmp.Diff([]string{"object MODIFIED child"}, read("object MODIFIED child")); diff != "" {
		t.Error(diff)
	}
	tasks.watch(rootSelector).Modify(treeObject("a"))
	if diff := cmp.Diff([]string{"object MODIFIED a"}, read("object MODIFIED a")); diff != "" {
		t.Error(diff)
	}
	tasks.watch(rootSelector).Delete(treeObject("a"))
	if diff := cmp.Diff([]string{"object DELETED a"}, read("object DELETED a")); diff != "" {
		t.Error(diff)
	}
}

func TestTaskIsNotAmongSubAgents(t *testing.T) {
	t.Parallel()
	tasks, subAgents := newSelectedObjects(), newSelectedObjects()
	tasks.set(rootSelector, "a")
	subAgents.set(treeSelector+"a", "agent")
	read := followTree(t, tasks, subAgents, false)
	if diff := cmp.Diff([]string{"reset", "object ADDED agent", "synced"}, read("synced")); diff != "" {
		t.Error(diff)
	}
	tasks.watch(rootSelector).Modify(treeObject("a"))
	subAgents.watch(treeSelector + "a").Add(treeObject("another"))
	if diff := cmp.Diff([]string{"object ADDED another"}, read("object ADDED another")); diff != "" {
		t.Error(diff)
	}
}

func TestTaskWithSameNameBeginsAnew(t *testing.T) {
	t.Parallel()
	tasks := newSelectedObjects()
	read := followTree(t, tasks, tasks, true)
	if diff := cmp.Diff([]string{"reset", "synced"}, read("synced")); diff != "" {
		t.Errorf("without a task: %s", diff)
	}
	for _, uid := range []string{"a", "b"} {
		tasks.set(rootSelector, uid)
		tasks.set(treeSelector+uid, "child-of-"+uid)
		tasks.watch(rootSelector).Add(treeObject(uid))
		if diff := cmp.Diff([]string{"reset", "object ADDED " + uid, "object ADDED child-of-" + uid, "synced"}, read("synced")); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTreeIsReadAgainAfterWatchEnds(t *testing.T) {
	t.Parallel()
	for _, selector := range []string{rootSelector, treeSelector + "a"} {
		tasks := newSelectedObjects()
		tasks.set(rootSelector, "a")
		read := followTree(t, tasks, tasks, true)
		read("synced")
		tasks.set(treeSelector+"a", "missed")
		tasks.watch(selector).Stop()
		if diff := cmp.Diff([]string{"reset", "object ADDED a", "object ADDED missed", "synced"}, read("synced")); diff != "" {
			t.Errorf("%s: %s", selector, diff)
		}
	}
}
