// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// A judge that gets a tree with any version of each kind treats nothing as deleted that exists, finds no agent of
// another task, and misses no task that it was asked for.
func TestTreeWithStaleCaches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := clustertest.DrawHistory(t)
		r := cluster.Reader{Cache: clustertest.DrawView(t, h), API: cluster.NewLive(h)}
		for _, object := range clustertest.Sorted(h.Now()) {
			if _, isChat := object.(*v1beta1.AgentChat); isChat {
				continue
			}
			names := rapid.SampledFrom([][]string{nil, {"x"}, {"y"}, {"x", "y"}}).Draw(t, "tasks")
			tree, err := r.Gather(context.Background(), object, names...)
			if err != nil {
				t.Fatal(err)
			}
			if tree.Lineage(object).Gone && !h.IsGone(object) {
				t.Errorf("%T %s is treated as an orphan", object, object.GetUID())
			}
			for _, name := range names {
				var live v1beta1.AgentTask
				exists := h.Get(context.Background(), client.ObjectKey{Namespace: "a", Name: name}, &live) == nil
				task := tree.Task(name)
				if exists && task == nil {
					t.Errorf("the task %s is missing", name)
				}
				if exists && h.IsWithin(&live, object) && (task == nil || !tree.IsWithin(task, object)) {
					t.Errorf("the task %s is missing below %s", live.UID, object.GetUID())
				}
				child, err := r.FindChildTask(context.Background(), object, name)
				if err != nil || exists && metav1.IsControlledBy(&live, object) && child == nil {
					t.Errorf("the child %s of %s is missing (%v)", live.UID, object.GetUID(), err)
				}
				if task == nil || task.UID != live.UID {
					continue
				}
				sub := tree.SubAgent(task)
				if sub != nil && !metav1.IsControlledBy(sub, task) {
					t.Errorf("%s has the agent %s of another task", task.UID, sub.UID)
				}
				for _, other := range h.Now() {
					if other, ok := other.(*v1beta1.SubAgent); ok && metav1.IsControlledBy(other, task) && sub == nil {
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
		h := clustertest.NewHistory()
		at := 0
		c := cluster.NewClient(clustertest.View{History: h, At: func(reflect.Type) int { return at }})
		ctx := context.Background()
		own := map[string]*v1beta1.AgentTask{} // nil after a deletion
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name")
			task := own[name]
			switch {
			case task == nil:
				task = &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Spec: v1beta1.AgentTaskSpec{Chat: "chat"}}
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
			at = rapid.IntRange(at, h.Last()).Draw(t, "version of the cache")
			var list v1beta1.AgentTaskList
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
func checkOwn(t *rapid.T, c client.Reader, listed []v1beta1.AgentTask, name string, want *v1beta1.AgentTask) {
	var found v1beta1.AgentTask
	err := c.Get(context.Background(), client.ObjectKey{Namespace: "a", Name: name}, &found)
	i := slices.IndexFunc(listed, func(task v1beta1.AgentTask) bool { return task.Name == name })
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

// A deleted object does not exist although this process has just written it: the write may be remembered for a while
// after the watch event of the deletion.
func TestOwnWriteDoesNotHideDeletion(t *testing.T) {
	chat := &v1beta1.AgentChat{ObjectMeta: clustertest.Named("chat", "chat")}
	task := clustertest.OwnedBy(chat, "AgentChat", &v1beta1.AgentTask{ObjectMeta: clustertest.Named("work", "task"), Spec: v1beta1.AgentTaskSpec{Chat: "chat"}})
	sub := clustertest.OwnedBy(task, "AgentTask", &v1beta1.SubAgent{ObjectMeta: clustertest.Named("work", "sub")})
	for name, c := range map[string]struct {
		deleted client.Object
		// exists reads the deleted object, or one that depends on it.
		exists func(context.Context, cluster.Reader) (bool, error)
	}{
		"Find": {sub, func(ctx context.Context, r cluster.Reader) (bool, error) {
			err := r.Find(ctx, client.ObjectKeyFromObject(sub), &v1beta1.SubAgent{})
			return err == nil, client.IgnoreNotFound(err)
		}},
		"FindSubAgent": {sub, func(ctx context.Context, r cluster.Reader) (bool, error) {
			found, err := r.FindSubAgent(ctx, task)
			return found != nil, err
		}},
		"HasObject": {sub, func(ctx context.Context, r cluster.Reader) (bool, error) {
			return r.HasObject(ctx, ledger.Agent{UID: "sub", Kind: "SubAgent", Namespace: "a", Name: "work"}, false)
		}},
		"Gather": {task, func(ctx context.Context, r cluster.Reader) (bool, error) {
			tree, err := r.Gather(ctx, sub)
			return err == nil && !tree.Lineage(sub).Gone, err
		}},
		"FindChildTask": {task, func(ctx context.Context, r cluster.Reader) (bool, error) {
			found, err := r.FindChildTask(ctx, chat, "work")
			return found != nil, err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := clustertest.NewHistory()
			own := cluster.NewClient(clustertest.View{History: h, At: func(reflect.Type) int { return h.Last() }})
			for _, object := range []client.Object{chat, task, sub} {
				h.Write(object, false)
				if err := own.Update(t.Context(), object); err != nil {
					t.Fatal(err)
				}
			}
			h.Write(c.deleted, true)
			if exists, err := c.exists(t.Context(), cluster.Reader{Cache: own, API: cluster.NewLive(h)}); exists || err != nil {
				t.Errorf("exists after its deletion: %t (%v)", exists, err)
			}
		})
	}
}
