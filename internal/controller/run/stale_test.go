// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/controller/resolve"
)

// After an outage of the API server the caches of the kinds come back one after the other. What one of them has not heard of
// yet is not gone: an answer would be lost, a question closed and an agent ended for good.
func TestACacheThatHasNotHeardOfAnObjectIsNotBelieved(t *testing.T) {
	meta := func(uid string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "a", Name: "work", UID: types.UID(uid)}
	}
	task := &v1alpha1.AgentTask{ObjectMeta: meta("task"), Spec: v1alpha1.AgentTaskSpec{Type: v1alpha1.TaskAgent}}
	sub := ownedBy(task, "AgentTask", &v1alpha1.SubAgent{ObjectMeta: meta("sub")})
	live := clusterWith(t, task, sub)
	name := client.ObjectKeyFromObject(task)
	for heard, cache := range map[string]client.Client{
		"nothing":    clusterWith(t),
		"the task":   clusterWith(t, task),
		"everything": live,
	} {
		t.Run("it has heard of "+heard, func(t *testing.T) {
			r := &Runner{Client: cache, Finder: resolve.Finder{Live: live}}
			if uid, err := r.TaskUID(t.Context(), task); uid != "sub" || err != nil {
				t.Errorf("the task's agent is %q (%v)", uid, err)
			}
			if lineage, err := r.Lineage(t.Context(), sub); lineage.Gone || err != nil {
				t.Errorf("the sub-agent is taken for an orphan (%v)", err)
			}
			known := &Known{Kind: "SubAgent", Find: r.Find} // it has no engine in which it could end anything
			var found v1alpha1.SubAgent
			if alive, err := known.Fetch(t.Context(), name, &found); !alive || err != nil || found.UID != "sub" {
				t.Errorf("the sub-agent %q is alive: %t (%v)", found.UID, alive, err)
			}
		})
	}
	r := &Runner{Client: live, Finder: resolve.Finder{Live: live}}
	again := &v1alpha1.AgentTask{ObjectMeta: meta("again"), Spec: task.Spec}
	if uid, err := r.TaskUID(t.Context(), again); uid != "" || err != nil {
		t.Errorf("a task that was created again has the old one's agent %q (%v)", uid, err)
	}
}

func TestATaskHearsWhyItsSubAgentDoesNotBegin(t *testing.T) {
	now := metav1.Now()
	failure := &v1alpha1.RunError{Kind: v1alpha1.ErrorCancelled}
	sub := func(phase v1alpha1.SubAgentPhase, start *metav1.Time, failure *v1alpha1.RunError) *v1alpha1.SubAgent {
		return &v1alpha1.SubAgent{Status: v1alpha1.SubAgentStatus{Phase: phase, StartTime: start, Error: failure}}
	}
	for name, test := range map[string]struct {
		before, after *v1alpha1.SubAgent
		wakes         bool
	}{
		"something is missing":        {sub("", nil, nil), sub(v1alpha1.SubAgentPending, nil, nil), true},
		"cancelled before it began":   {sub("", nil, nil), sub(v1alpha1.SubAgentFailed, nil, failure), true},
		"its history is lost":         {sub(v1alpha1.SubAgentActive, &now, nil), sub(v1alpha1.SubAgentFailed, &now, failure), true},
		"it has begun":                {sub("", nil, nil), sub(v1alpha1.SubAgentActive, &now, nil), false},
		"it has come to its end":      {sub(v1alpha1.SubAgentActive, &now, nil), sub(v1alpha1.SubAgentCompleted, &now, nil), false},
		"nothing that it says is new": {sub(v1alpha1.SubAgentPending, nil, nil), sub(v1alpha1.SubAgentPending, nil, nil), false},
	} {
		if got := Hindered().Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}); got != test.wakes {
			t.Errorf("%s: wakes its task: %t", name, got)
		}
	}
}
