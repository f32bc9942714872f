// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
)

// After an outage of the API server the caches of the kinds recover one after the other. An object that is missing from
// a cache still exists: treating it as deleted would lose an answer, close a question and end an agent permanently.
func TestCacheMissIsConfirmedLive(t *testing.T) {
	meta := func(uid string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "a", Name: "work", UID: types.UID(uid)}
	}
	task := &v1beta1.AgentTask{ObjectMeta: meta("task"), Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent}}
	sub := clustertest.OwnedBy(task, "AgentTask", &v1beta1.SubAgent{ObjectMeta: meta("sub")})
	live := clustertest.NewCluster(t, task, sub)
	name := client.ObjectKeyFromObject(task)
	for heard, cache := range map[string]client.Client{
		"nothing":    clustertest.NewCluster(t),
		"the task":   clustertest.NewCluster(t, task),
		"everything": live,
	} {
		t.Run("cached: "+heard, func(t *testing.T) {
			r := cluster.Reader{Cache: cache, API: live}
			if uid, err := r.TaskUID(t.Context(), task); uid != "sub" || err != nil {
				t.Errorf("the task's agent is %q (%v)", uid, err)
			}
			if tree, err := r.Gather(t.Context(), sub); err != nil || tree.Lineage(sub).Gone {
				t.Errorf("the sub-agent is treated as an orphan (%v)", err)
			}
			known := &Tracker{Kind: "SubAgent", Find: r.Find} // without an engine, so it cannot end an agent
			var found v1beta1.SubAgent
			if alive, err := known.Fetch(t.Context(), name, &found); !alive || err != nil || found.UID != "sub" {
				t.Errorf("the sub-agent %q is alive: %t (%v)", found.UID, alive, err)
			}
		})
	}
	r := cluster.Reader{Cache: live, API: live}
	again := &v1beta1.AgentTask{ObjectMeta: meta("again"), Spec: task.Spec}
	if uid, err := r.TaskUID(t.Context(), again); uid != "" || err != nil {
		t.Errorf("a task that was created again has the old one's agent %q (%v)", uid, err)
	}
}
