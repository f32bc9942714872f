// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
)

// history is an API server that remembers every version of every kind.
type history struct {
	client.Client // nil: the tests call only the methods below
	versions      []map[types.UID]client.Object
}

func newHistory() *history { return &history{versions: []map[types.UID]client.Object{{}}} }

func (h *history) now() map[types.UID]client.Object { return h.versions[len(h.versions)-1] }

// write adds a version in which an object is stored, or removed.
func (h *history) write(object client.Object, remove bool) {
	next := map[types.UID]client.Object{}
	for uid, o := range h.now() {
		next[uid] = o
	}
	object.SetResourceVersion(strconv.Itoa(len(h.versions)))
	next[object.GetUID()], _ = object.DeepCopyObject().(client.Object)
	if remove {
		delete(next, object.GetUID())
	}
	h.versions = append(h.versions, next)
}

func (h *history) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	object.SetUID(types.UID(fmt.Sprintf("uid-%d", len(h.versions))))
	h.write(object, false)
	return nil
}

func (h *history) Update(_ context.Context, object client.Object, _ ...client.UpdateOption) error {
	h.write(object, false)
	return nil
}

func (h *history) Delete(_ context.Context, object client.Object, _ ...client.DeleteOption) error {
	h.write(object, true)
	return nil
}

func (h *history) Get(ctx context.Context, name client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	return view{h, func(reflect.Type) int { return len(h.versions) - 1 }}.Get(ctx, name, object)
}

// view is a cache that has one version of each kind.
type view struct {
	*history
	at func(reflect.Type) int
}

func (v view) Get(_ context.Context, name client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	kind := reflect.TypeOf(object)
	for _, found := range v.versions[v.at(kind)] {
		if reflect.TypeOf(found) == kind && client.ObjectKeyFromObject(found) == name {
			reflect.ValueOf(object).Elem().Set(reflect.ValueOf(found.DeepCopyObject()).Elem())
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, name.Name)
}

func (v view) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return err
	}
	var which client.ListOptions
	which.ApplyOptions(options)
	kind := reflect.PointerTo(reflect.TypeOf(items).Elem().Elem())
	var found []runtime.Object
	for _, object := range v.versions[v.at(kind)] {
		if reflect.TypeOf(object) == kind && selected(object, which) {
			found = append(found, object.DeepCopyObject())
		}
	}
	return meta.SetList(list, found)
}

func selected(object client.Object, which client.ListOptions) bool {
	if which.FieldSelector == nil {
		return true
	}
	for _, r := range which.FieldSelector.Requirements() {
		if !slices.ContainsFunc(cluster.Indexes(), func(i cluster.FieldIndex) bool {
			return i.Field == r.Field && reflect.TypeOf(i.Object) == reflect.TypeOf(object) && slices.Contains(i.Values(object), r.Value)
		}) {
			return false
		}
	}
	return true
}

// drawView draws an older version of each kind, which is not older than the one before.
func drawView(t *rapid.T, h *history) view {
	at := map[reflect.Type]int{}
	for _, object := range []client.Object{&v1alpha1.AgentChat{}, &v1alpha1.AgentTask{}, &v1alpha1.SubAgent{}, &v1alpha1.AgentMessage{}} {
		at[reflect.TypeOf(object)] = rapid.IntRange(0, len(h.versions)-1).Draw(t, fmt.Sprintf("version of %T", object))
	}
	return view{h, func(kind reflect.Type) int { return at[kind] }}
}

// drawHistory draws a history of chats, tasks and sub-agents, with few names, so that names are used again.
func drawHistory(t *rapid.T) *history {
	h := newHistory()
	for range rapid.IntRange(1, 25).Draw(t, "writes") {
		objects := sorted(h.now())
		if len(objects) > 0 && rapid.IntRange(0, 3).Draw(t, "what") == 0 {
			gone := rapid.SampledFrom(objects).Draw(t, "deleted")
			gone, _ = gone.DeepCopyObject().(client.Object)
			if gone.GetDeletionTimestamp().IsZero() && rapid.Bool().Draw(t, "in the foreground") {
				gone.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
				h.write(gone, false)
				continue
			}
			h.write(gone, true)
			continue
		}
		h.create(t, objects)
	}
	return h
}

func sorted(objects map[types.UID]client.Object) []client.Object {
	var all []client.Object
	for _, object := range objects {
		all = append(all, object)
	}
	slices.SortFunc(all, func(a, b client.Object) int {
		return len(a.GetUID()) - len(b.GetUID()) + 2*compare(a.GetUID(), b.GetUID())
	})
	return all
}

func compare(a, b types.UID) int {
	if a < b {
		return -1
	}
	return 1
}

// create creates a chat, a standalone task, or an object below another one.
func (h *history) create(t *rapid.T, objects []client.Object) {
	meta := metav1.ObjectMeta{Namespace: "a", Name: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name")}
	var object client.Object = &v1alpha1.AgentChat{ObjectMeta: meta}
	if rapid.Bool().Draw(t, "task") {
		object = &v1alpha1.AgentTask{ObjectMeta: meta, Spec: v1alpha1.AgentTaskSpec{Type: v1alpha1.TaskAgent}}
	}
	if len(objects) > 0 && rapid.IntRange(0, 3).Draw(t, "below") > 0 {
		switch owner := rapid.SampledFrom(objects).Draw(t, "owner").(type) {
		case *v1alpha1.AgentChat:
			object = clustertest.OwnedBy(owner, "AgentChat", &v1alpha1.AgentTask{ObjectMeta: meta, Spec: v1alpha1.AgentTaskSpec{Type: v1alpha1.TaskAgent}})
			cluster.SetRoot(object, owner)
		case *v1alpha1.AgentTask:
			object = clustertest.OwnedBy(owner, "AgentTask", &v1alpha1.SubAgent{ObjectMeta: meta})
			object.SetName(owner.Name)
			cluster.SetRoot(object, owner)
		case *v1alpha1.SubAgent:
			object = clustertest.OwnedBy(owner, "SubAgent", &v1alpha1.AgentTask{ObjectMeta: meta, Spec: v1alpha1.AgentTaskSpec{Type: v1alpha1.TaskAgent}})
			cluster.SetRoot(object, owner)
		}
	}
	for _, other := range h.now() {
		if reflect.TypeOf(other) == reflect.TypeOf(object) && other.GetName() == object.GetName() {
			return // the name is taken
		}
	}
	_ = h.Create(context.Background(), object)
}

// isGone reports whether an ancestor of an object does not exist, or is being deleted.
func (h *history) isGone(object client.Object) bool {
	for {
		ref := metav1.GetControllerOf(object)
		if ref == nil {
			return false
		}
		above, ok := h.now()[ref.UID]
		if !ok || !above.GetDeletionTimestamp().IsZero() {
			return true
		}
		object = above
	}
}

// A judge that gets a tree with any version of each kind treats nothing as deleted that exists, finds no agent of another task, and misses
// no task that it was asked for.
func TestATreeOfStaleCachesIsNeverWrong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		r := cluster.Reader{Cache: drawView(t, h), API: cluster.NewLive(h)}
		for _, object := range sorted(h.now()) {
			if _, isChat := object.(*v1alpha1.AgentChat); isChat {
				continue
			}
			names := rapid.SampledFrom([][]string{nil, {"x"}, {"y"}, {"x", "y"}}).Draw(t, "tasks")
			tree, err := r.Gather(context.Background(), object, names...)
			if err != nil {
				t.Fatal(err)
			}
			if tree.Lineage(object).Gone && !h.isGone(object) {
				t.Errorf("%T %s is treated as an orphan", object, object.GetUID())
			}
			for _, name := range names {
				var live v1alpha1.AgentTask
				exists := h.Get(context.Background(), client.ObjectKey{Namespace: "a", Name: name}, &live) == nil
				task := tree.Task(name)
				if exists && task == nil {
					t.Errorf("the task %s is missing", name)
				}
				if task == nil || task.UID != live.UID {
					continue
				}
				sub := tree.SubAgent(task)
				if sub != nil && !metav1.IsControlledBy(sub, task) {
					t.Errorf("%s has the agent %s of another task", task.UID, sub.UID)
				}
				for _, other := range h.now() {
					if other, ok := other.(*v1alpha1.SubAgent); ok && metav1.IsControlledBy(other, task) && sub == nil {
						t.Errorf("the agent %s of %s is missing", other.UID, task.UID)
					}
				}
			}
		}
	})
}

// What this process has written is never missing, whatever the cache has.
func TestReadsContainOwnWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory()
		at := 0
		c := cluster.NewClient(view{h, func(reflect.Type) int { return at }})
		ctx := context.Background()
		own := map[string]*v1alpha1.AgentTask{} // nil after a deletion
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name")
			task := own[name]
			switch {
			case task == nil:
				task = &v1alpha1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Spec: v1alpha1.AgentTaskSpec{Chat: "chat"}}
				_ = c.Create(ctx, task)
			case rapid.IntRange(0, 3).Draw(t, "what") == 0:
				_ = c.Delete(ctx, task)
				task = nil
			default:
				task = task.DeepCopy()
				task.Spec.Chat = rapid.SampledFrom([]string{"chat", "other"}).Draw(t, "chat")
				_ = c.Update(ctx, task)
			}
			own[name] = task
			at = rapid.IntRange(at, len(h.versions)-1).Draw(t, "version of the cache")
			var list v1alpha1.AgentTaskList
			if err := c.List(ctx, &list, client.InNamespace("a"), client.MatchingFields{cluster.ChatField: "chat"}); err != nil {
				t.Fatal(err)
			}
			for name, want := range own {
				checkOwn(t, c, list.Items, name, want)
			}
		}
	})
}

// checkOwn checks that reads of an object contain its last own write.
func checkOwn(t *rapid.T, c client.Reader, listed []v1alpha1.AgentTask, name string, want *v1alpha1.AgentTask) {
	var found v1alpha1.AgentTask
	err := c.Get(context.Background(), client.ObjectKey{Namespace: "a", Name: name}, &found)
	i := slices.IndexFunc(listed, func(task v1alpha1.AgentTask) bool { return task.Name == name })
	if want == nil {
		if err == nil && found.DeletionTimestamp.IsZero() || i >= 0 && listed[i].DeletionTimestamp.IsZero() {
			t.Errorf("%s is there after its deletion", name)
		}
		return
	}
	if err != nil || found.ResourceVersion != want.ResourceVersion {
		t.Errorf("%s has the version %q, want %q (%v)", name, found.ResourceVersion, want.ResourceVersion, err)
	}
	if (i >= 0) != (want.Spec.Chat == "chat") || i >= 0 && listed[i].ResourceVersion != want.ResourceVersion {
		t.Errorf("%s of the chat %s is in the list: %t", name, want.Spec.Chat, i >= 0)
	}
}
