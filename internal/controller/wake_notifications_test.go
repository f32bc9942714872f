// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
	"github.com/nestor-dev/nestor/internal/controller/notify"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
)

// TestNotificationsAfterTakeOver takes over all shards: the tasks with receivers are reconciled, because the operator
// that owned them may have ended before it notified their newest state.
func TestNotificationsAfterTakeOver(t *testing.T) {
	kept := ledgertest.OpenSQLite(t)
	router := engine.NewRouter(engine.Options{Ledger: kept, AwaitRecovery: true}, 4)
	defer func() { _ = router.Close(t.Context()) }()
	api := clustertest.NewCluster(t)
	notified := &v1beta1.AgentTask{ObjectMeta: clustertest.Named("notified", "1")}
	notified.Annotations = map[string]string{v1beta1.AnnotationPush: "[]"}
	for _, task := range []*v1beta1.AgentTask{notified, {ObjectMeta: clustertest.Named("other", "2")}} {
		if err := api.Create(t.Context(), task); err != nil {
			t.Fatal(err)
		}
	}
	w := &wakers{chats: cluster.NewQueue(), messages: cluster.NewQueue(), tasks: cluster.NewQueue(), agents: cluster.NewQueue(), servers: cluster.NewQueue(), providers: cluster.NewQueue(), roles: cluster.NewQueue(), quotas: cluster.NewQueue()}
	deliveries := &notify.Reconciler{Tasks: cluster.NewQueue(), Chats: cluster.NewQueue()}
	w.notifications = deliveries.Wake
	gate := cluster.Gate{Engine: router, Objects: cluster.Reader{Cache: api, API: api}}
	if err := w.wakeShards(t.Context(), gate, map[int]bool{0: true, 1: true, 2: true, 3: true}); err != nil {
		t.Fatal(err)
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := deliveries.Tasks.Source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	if queue.Len() != 1 {
		t.Fatalf("%d tasks were enqueued, want 1", queue.Len())
	}
	if got, _ := queue.Get(); got.Name != "notified" {
		t.Errorf("the task %s was enqueued", got.Name)
	}
	w.notifications = nil // an operator without a gateway
	if err := w.wakeShards(t.Context(), gate, map[int]bool{0: true, 1: true, 2: true, 3: true}); err != nil {
		t.Error(err)
	}
}
