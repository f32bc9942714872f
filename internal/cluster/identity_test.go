// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"regexp"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
	"github.com/nestor-dev/nestor/internal/ledger"
)

func TestSuffixDerivesFromOwner(t *testing.T) {
	form := regexp.MustCompile(`^[a-z][a-z0-9]{4}$`)
	seen := map[string]bool{}
	for _, uid := range []types.UID{"one", "two"} {
		for _, name := range []string{"release-1", "release-2"} {
			suffix := cluster.Suffix(uid, name)
			if !form.MatchString(suffix) || seen[suffix] || suffix != cluster.Suffix(uid, name) {
				t.Errorf("the suffix of %s for %s is %q", name, uid, suffix)
			}
			seen[suffix] = true
		}
	}
}

// A task finds its sub-agent among those that have, or had, its name.
func TestSubAgentIsFoundByOwner(t *testing.T) {
	task := &v1beta1.AgentTask{ObjectMeta: clustertest.Named("work", "new"), Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent}}
	old := &v1beta1.AgentTask{ObjectMeta: clustertest.Named("work", "old")}
	leftover := clustertest.OwnedBy(old, "AgentTask", &v1beta1.SubAgent{ObjectMeta: clustertest.Named("work", "leftover")})
	renamed := clustertest.OwnedBy(task, "AgentTask", &v1beta1.SubAgent{ObjectMeta: clustertest.Named(cluster.SubAgentNames(task)[1], "renamed")})
	orphan := &v1beta1.SubAgent{ObjectMeta: clustertest.Named("work", "orphan")}
	for name, test := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"a leftover":                            {[]client.Object{leftover}, ""},
		"an orphan":                             {[]client.Object{orphan}, ""},
		"its own beside a leftover":             {[]client.Object{leftover, renamed}, "renamed"},
		"its own after the leftover is deleted": {[]client.Object{renamed}, "renamed"},
	} {
		api := clustertest.NewCluster(t, test.objects...)
		r := cluster.Reader{Cache: api, API: api}
		if uid, err := r.TaskUID(t.Context(), task); uid != test.want || err != nil {
			t.Errorf("%s: the agent is %q, want %q (%v)", name, uid, test.want, err)
		}
	}
}

func TestLineageEndsAtDeletion(t *testing.T) {
	now := metav1.Now()
	chat := &v1beta1.AgentChat{ObjectMeta: clustertest.Named("chat", "chat")}
	again := &v1beta1.AgentChat{ObjectMeta: clustertest.Named("chat", "again")}
	going := &v1beta1.AgentChat{ObjectMeta: clustertest.Named("chat", "chat")}
	going.DeletionTimestamp, going.Finalizers = &now, []string{"foregroundDeletion"}
	task := clustertest.OwnedBy(chat, "AgentChat", &v1beta1.AgentTask{ObjectMeta: clustertest.Named("chat-1", "task"), Spec: v1beta1.AgentTaskSpec{Chat: "chat"}})
	orphan := &v1beta1.AgentTask{ObjectMeta: clustertest.Named("chat-1", "task"), Spec: v1beta1.AgentTaskSpec{Chat: "chat"}}
	standalone := &v1beta1.AgentTask{ObjectMeta: clustertest.Named("chat-1", "task")}
	sub := clustertest.OwnedBy(task, "AgentTask", &v1beta1.SubAgent{ObjectMeta: clustertest.Named("chat-1", "sub")})
	for name, test := range map[string]struct {
		objects []client.Object
		gone    bool
		parent  types.UID
	}{
		"everything exists":          {[]client.Object{chat, task, sub}, false, "chat"},
		"the chat is deleted":        {[]client.Object{task, sub}, true, ""},
		"the chat is being deleted":  {[]client.Object{going, task, sub}, true, ""},
		"the chat was created again": {[]client.Object{again, task, sub}, true, ""},
		"the task is deleted":        {[]client.Object{chat, sub}, true, ""},
		"the task is an orphan":      {[]client.Object{chat, orphan, sub}, true, ""},
		"the task is standalone":     {[]client.Object{standalone, sub}, false, ""},
	} {
		api := clustertest.NewCluster(t, test.objects...)
		r := cluster.Reader{Cache: api, API: api}
		tree, err := r.Gather(t.Context(), sub)
		lineage := tree.Lineage(sub)
		if err != nil || lineage.Gone != test.gone {
			t.Errorf("%s: gone %t, want %t (%v)", name, lineage.Gone, test.gone, err)
		}
		if !test.gone && (lineage.Parent != nil) != (test.parent != "") {
			t.Errorf("%s: the parent is %v", name, lineage.Parent)
		}
		for _, confirm := range []bool{false, true} {
			there, err := r.HasObject(t.Context(), ledger.Agent{UID: "sub", Kind: "SubAgent", Namespace: "a", Name: "chat-1"}, confirm)
			if err != nil || there == test.gone {
				t.Errorf("%s: HasObject = %t (%v)", name, there, err)
			}
		}
		// A cache that still has everything must not hide the deletion.
		stale := cluster.Reader{Cache: clustertest.NewCluster(t, chat, task, sub), API: api}
		object, above, err := stale.Deleted(t.Context(), ledger.Agent{UID: "sub", Kind: "SubAgent", Namespace: "a", Name: "chat-1"})
		if err != nil || object || above != test.gone {
			t.Errorf("%s: Deleted = %t, %t (%v)", name, object, above, err)
		}
		object, _, err = stale.Deleted(t.Context(), ledger.Agent{UID: "chat", Kind: "AgentChat", Namespace: "a", Name: "chat"})
		if want := !slices.Contains(test.objects, client.Object(chat)); err != nil || object != want {
			t.Errorf("%s: the chat is deleted: %t (%v)", name, object, err)
		}
	}
}
