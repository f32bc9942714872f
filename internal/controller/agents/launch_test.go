// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/projection"
)

// The first call of an agent costs money. It is not made for an object that was deleted, replaced, cancelled or begun
// since the cache got it.
func TestStartIsConfirmedLive(t *testing.T) {
	task := &v1beta1.AgentTask{ObjectMeta: clustertest.Named("work", "task"), Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent}}
	sub := clustertest.OwnedBy(task, "AgentTask", &v1beta1.SubAgent{ObjectMeta: clustertest.Named("work", "sub")})
	otherTask, otherSub, going, cancelled, begun := task.DeepCopy(), sub.DeepCopy(), sub.DeepCopy(), sub.DeepCopy(), sub.DeepCopy()
	cancelled.Spec.Cancel, begun.Status.StartTime = true, &metav1.Time{Time: time.Unix(1, 0)}
	otherTask.UID, otherSub.UID = "task-2", "sub-2"
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"example.com/held"}
	for name, test := range map[string]struct {
		live   []client.Object
		starts bool
		fails  v1beta1.ErrorKind
	}{
		"both exist":                     {live: []client.Object{task, sub}, starts: true},
		"the sub-agent is deleted":       {live: []client.Object{task}},
		"the sub-agent is replaced":      {live: []client.Object{task, otherSub}},
		"the sub-agent is being deleted": {live: []client.Object{task, going}},
		"the task is deleted":            {live: []client.Object{sub}, fails: v1beta1.ErrorCancelled},
		"the task is replaced":           {live: []client.Object{otherTask, sub}, fails: v1beta1.ErrorCancelled},
		"both are deleted":               {},
		"it is cancelled":                {live: []client.Object{task, cancelled}},
		"another operator had begun it":  {live: []client.Object{task, begun}, fails: v1beta1.ErrorHistoryLost},
	} {
		t.Run(name, func(t *testing.T) {
			runner, _, _ := newPostingRunner(t, clustertest.NewCluster(t, task, sub)) // the cache
			runner.API = cluster.NewLive(clustertest.NewCluster(t, test.live...))
			r := &Reconciler{Runner: runner, Changed: cluster.NewQueue(), Tracker: &Tracker{Kind: "SubAgent"}}
			f := &facts{Run: projection.SubAgentRun(sub.DeepCopy()), uid: "sub"}
			record := ledger.Agent{UID: "sub", Kind: "SubAgent", Namespace: "a", Name: "work", Root: "sub", Depth: 1, CreatedAt: time.Now()}
			err := r.launch(t.Context(), f, record, agent.Started{Config: agent.Config{Kind: agent.SubAgent, Name: "work", Depth: 1, MaxDepth: 1}})
			failure := &startError{}
			if errors.As(err, &failure); failure.Kind != test.fails || (err != nil) != (test.fails != "") {
				t.Errorf("it fails with %v, want %q", err, test.fails)
			}
			_ = runner.Engine.Record(t.Context(), "sub", agent.Woke{}) // a start is recorded before this event
			if _, started, err := runner.State(t.Context(), "sub"); started != test.starts || err != nil {
				t.Errorf("it has started: %t (%v)", started, err)
			}
		})
	}
}
