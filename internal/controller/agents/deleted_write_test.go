// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
)

// A sub-agent and its task are deleted. The cache of tasks is behind, and the last status write of the sub-agent is
// still remembered: its response arrived after its watch event, and nothing has read the sub-agent since. The watch
// event of the deletion is the only one that ends the agent: when the deletion of the task arrives, the cache has no
// sub-agent of it any more.
func TestOwnWriteDoesNotKeepAgentAlive(t *testing.T) {
	task := &v1beta1.AgentTask{ObjectMeta: clustertest.Named("work", "task"), Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent}}
	sub := clustertest.OwnedBy(task, "AgentTask", &v1beta1.SubAgent{ObjectMeta: clustertest.Named("work", "sub")})
	cache, live := clustertest.NewCluster(t, task, sub), clustertest.NewCluster(t)
	own := cluster.NewClient(cache)
	objects := cluster.Reader{Cache: own, API: cluster.NewLive(live)}
	kept := ledgertest.OpenSQLite(t)
	e := newRouter(t, engine.Options{Ledger: kept, Deleted: objects.Deleted})
	runner := &Runner{Reader: objects, Client: own, Engine: e, Status: &status.Writer{Client: own, Pace: status.NewPace()}, Ledger: kept}
	r := &Reconciler{Runner: runner, Changed: cluster.NewQueue(), Tracker: &Tracker{Engine: e, Find: objects.Find, Kind: "SubAgent"}, Unresolved: &cluster.Unresolved{}}
	waits := agent.Config{Kind: agent.ToolRun, Name: "work", Tools: []agent.Tool{{Name: "look"}}, ToolCall: &agent.ToolRunCall{Tool: "look"},
		WaitForStartPublished: true} // it calls nothing
	record := ledger.Agent{UID: "sub", Kind: "SubAgent", Namespace: "a", Name: "work", Root: "sub", Depth: 1, CreatedAt: time.Now()}
	if err := e.Start(record, agent.Started{Config: waits}); err != nil {
		t.Fatal(err)
	}
	_ = e.Record(t.Context(), "sub", agent.Woke{}) // a start is recorded before this event
	var written v1beta1.SubAgent
	if err := cache.Get(t.Context(), client.ObjectKeyFromObject(sub), &written); err != nil {
		t.Fatal(err)
	}
	if err := own.Update(t.Context(), &written); err != nil {
		t.Fatal(err)
	}
	if err := cache.Delete(t.Context(), sub); err != nil { // its watch event
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(sub)}); err != nil {
		t.Fatal(err)
	}
	_ = e.Record(t.Context(), "sub", agent.Woke{}) // the end is recorded before this event
	if found, err := kept.Agent(t.Context(), "sub"); err != nil || found.Live() {
		t.Errorf("the agent of the deleted sub-agent is live: %t (%v)", found.Live(), err)
	}
}
