// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/controller/tree"
)

// After an outage of the API server the caches of the kinds come back one after the other. What one of them has not heard of
// yet is not gone: an answer would be lost, a question closed and an agent ended for good.
func TestACacheThatHasNotHeardOfAnObjectIsNotBelieved(t *testing.T) {
	meta := func(uid string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "a", Name: "work", UID: types.UID(uid)}
	}
	task := &v1alpha1.AgentTask{ObjectMeta: meta("task"), Spec: v1alpha1.AgentTaskSpec{Type: v1alpha1.TaskAgent}}
	sub := ownedBy(task, "AgentTask", &v1alpha1.SubAgent{ObjectMeta: meta("sub")})
	live := newCluster(t, task, sub)
	name := client.ObjectKeyFromObject(task)
	for heard, cache := range map[string]client.Client{
		"nothing":    newCluster(t),
		"the task":   newCluster(t, task),
		"everything": live,
	} {
		t.Run("it has heard of "+heard, func(t *testing.T) {
			r := tree.Reader{Cache: cache, API: live}
			if uid, err := r.TaskUID(t.Context(), task); uid != "sub" || err != nil {
				t.Errorf("the task's agent is %q (%v)", uid, err)
			}
			if lineage, err := r.Lineage(t.Context(), sub); lineage.Gone || err != nil {
				t.Errorf("the sub-agent is taken for an orphan (%v)", err)
			}
			known := &Tracker{Kind: "SubAgent", Find: r.Find} // it has no engine in which it could end anything
			var found v1alpha1.SubAgent
			if alive, err := known.Fetch(t.Context(), name, &found); !alive || err != nil || found.UID != "sub" {
				t.Errorf("the sub-agent %q is alive: %t (%v)", found.UID, alive, err)
			}
		})
	}
	r := tree.Reader{Cache: live, API: live}
	again := &v1alpha1.AgentTask{ObjectMeta: meta("again"), Spec: task.Spec}
	if uid, err := r.TaskUID(t.Context(), again); uid != "" || err != nil {
		t.Errorf("a task that was created again has the old one's agent %q (%v)", uid, err)
	}
}
