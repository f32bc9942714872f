// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package clustertest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
)

// History is an API server that keeps every version of every kind.
type History struct {
	client.Client // nil: the tests call only the methods below
	versions      []map[types.UID]client.Object
}

// NewHistory returns an empty history.
func NewHistory() *History { return &History{versions: []map[types.UID]client.Object{{}}} }

// Now returns the objects that exist.
func (h *History) Now() map[types.UID]client.Object { return h.versions[h.Last()] }

// Last returns the number of the last version.
func (h *History) Last() int { return len(h.versions) - 1 }

// Write adds a version in which an object is stored, or removed.
func (h *History) Write(object client.Object, remove bool) {
	next := maps.Clone(h.Now())
	object.SetResourceVersion(strconv.Itoa(len(h.versions)))
	next[object.GetUID()], _ = object.DeepCopyObject().(client.Object)
	if remove {
		delete(next, object.GetUID())
	}
	h.versions = append(h.versions, next)
}

func (h *History) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	object.SetUID(types.UID(fmt.Sprintf("uid-%d", len(h.versions))))
	h.Write(object, false)
	return nil
}

func (h *History) Update(_ context.Context, object client.Object, _ ...client.UpdateOption) error {
	h.Write(object, false)
	return nil
}

func (h *History) Delete(_ context.Context, object client.Object, _ ...client.DeleteOption) error {
	h.Write(object, true)
	return nil
}

// Get implements client.Reader with what exists now.
func (h *History) Get(ctx context.Context, name client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	return View{h, func(reflect.Type) int { return h.Last() }}.Get(ctx, name, object)
}

// View is a cache that has one version of each kind.
type View struct {
	*History
	// At returns the version of a kind.
	At func(reflect.Type) int
}

func (v View) Get(_ context.Context, name client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	kind := reflect.TypeOf(object)
	for _, stored := range v.versions[v.At(kind)] {
		if reflect.TypeOf(stored) == kind && client.ObjectKeyFromObject(stored) == name {
			reflect.ValueOf(object).Elem().Set(reflect.ValueOf(stored.DeepCopyObject()).Elem())
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, name.Name)
}

func (v View) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return err
	}
	var which client.ListOptions
	which.ApplyOptions(options)
	kind := reflect.PointerTo(reflect.TypeOf(items).Elem().Elem())
	var objects []runtime.Object
	for _, object := range v.versions[v.At(kind)] {
		if reflect.TypeOf(object) == kind && selected(object, which) {
			objects = append(objects, object.DeepCopyObject())
		}
	}
	return meta.SetList(list, objects)
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

// DrawView draws an older version of each kind, which is not older than the one before.
func DrawView(t *rapid.T, h *History) View {
	at := map[reflect.Type]int{}
	for _, object := range []client.Object{&v1beta1.AgentChat{}, &v1beta1.AgentTask{}, &v1beta1.SubAgent{}, &v1beta1.AgentMessage{}} {
		at[reflect.TypeOf(object)] = rapid.IntRange(0, h.Last()).Draw(t, fmt.Sprintf("version of %T", object))
	}
	return View{h, func(kind reflect.Type) int { return at[kind] }}
}

// DrawHistory draws a history of chats, tasks and sub-agents, with few names, so that names are used again. Tasks and
// sub-agents are cancelled, begin and end as time passes, and no such change is ever undone.
func DrawHistory(t *rapid.T) *History {
	h := NewHistory()
	for range rapid.IntRange(1, 25).Draw(t, "writes") {
		objects := Sorted(h.Now())
		if len(objects) > 0 && rapid.IntRange(0, 3).Draw(t, "what") == 0 {
			deleted := rapid.SampledFrom(objects).Draw(t, "deleted")
			deleted, _ = deleted.DeepCopyObject().(client.Object)
			if deleted.GetDeletionTimestamp().IsZero() && rapid.Bool().Draw(t, "in the foreground") {
				deleted.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
				h.Write(deleted, false)
				continue
			}
			h.Write(deleted, true)
			continue
		}
		if len(objects) > 0 && rapid.Bool().Draw(t, "change") {
			h.change(t, rapid.SampledFrom(objects).Draw(t, "changed"))
			continue
		}
		h.create(t, objects)
	}
	return h
}

// change changes the spec or the status of a task or sub-agent.
func (h *History) change(t *rapid.T, object client.Object) {
	what := rapid.SampledFrom([]string{"cancel", "begin", "end", "show the sub-agent"}).Draw(t, "change")
	now := &metav1.Time{Time: time.Unix(2, 0)}
	switch o := object.DeepCopyObject().(type) {
	case *v1beta1.AgentTask:
		switch what {
		case "cancel":
			o.Spec.Cancel = true
		case "begin":
			o.Status.StartTime = now
		case "end":
			o.Status.CompletionTime = now
		default:
			o.Status.SubAgent = o.Name
		}
		h.Write(o, false)
	case *v1beta1.SubAgent:
		switch what {
		case "cancel":
			o.Spec.Cancel = true
		case "begin":
			o.Status.StartTime = now
		default:
			o.Status.CompletionTime, o.Status.Error = now, &v1beta1.RunError{Kind: v1beta1.ErrorModel}
		}
		h.Write(o, false)
	}
}

// Sorted returns objects in the order of their creation.
func Sorted(objects map[types.UID]client.Object) []client.Object {
	return slices.SortedFunc(maps.Values(objects), func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(len(a.GetUID()), len(b.GetUID())), cmp.Compare(a.GetUID(), b.GetUID()))
	})
}

// create creates a chat, a standalone task, or an object below another one.
func (h *History) create(t *rapid.T, objects []client.Object) {
	meta := metav1.ObjectMeta{Namespace: "a", Name: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name")}
	var object client.Object = &v1beta1.AgentChat{ObjectMeta: meta}
	if rapid.Bool().Draw(t, "task") {
		kind := rapid.SampledFrom([]v1beta1.TaskType{v1beta1.TaskAgent, v1beta1.TaskAgent, v1beta1.TaskTool}).Draw(t, "type")
		object = &v1beta1.AgentTask{ObjectMeta: meta, Spec: v1beta1.AgentTaskSpec{Type: kind}}
	}
	if len(objects) > 0 && rapid.IntRange(0, 3).Draw(t, "below") > 0 {
		switch owner := rapid.SampledFrom(objects).Draw(t, "owner").(type) {
		case *v1beta1.AgentChat:
			object = OwnedBy(owner, "AgentChat", &v1beta1.AgentTask{ObjectMeta: meta, Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent}})
			cluster.SetRoot(object, owner)
		case *v1beta1.AgentTask:
			if owner.Spec.Type == v1beta1.TaskTool {
				return // it has no sub-agent
			}
			object = OwnedBy(owner, "AgentTask", &v1beta1.SubAgent{ObjectMeta: meta})
			object.SetName(owner.Name)
			cluster.SetRoot(object, owner)
		case *v1beta1.SubAgent:
			object = OwnedBy(owner, "SubAgent", &v1beta1.AgentTask{ObjectMeta: meta, Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent}})
			cluster.SetRoot(object, owner)
		}
	}
	for _, other := range h.Now() {
		if reflect.TypeOf(other) == reflect.TypeOf(object) && other.GetName() == object.GetName() {
			return // the name is taken
		}
	}
	_ = h.Create(context.Background(), object)
}

// IsGone reports whether an ancestor of an object does not exist, or is being deleted.
func (h *History) IsGone(object client.Object) bool {
	for {
		ref := metav1.GetControllerOf(object)
		if ref == nil {
			return false
		}
		above, ok := h.Now()[ref.UID]
		if !ok || !above.GetDeletionTimestamp().IsZero() {
			return true
		}
		object = above
	}
}

// IsWithin reports whether an object is top or below it.
func (h *History) IsWithin(object, top client.Object) bool {
	for object != nil && object.GetUID() != top.GetUID() {
		ref := metav1.GetControllerOf(object)
		if ref == nil {
			return false
		}
		object = h.Now()[ref.UID]
	}
	return object != nil
}
