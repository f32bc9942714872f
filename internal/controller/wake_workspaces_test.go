// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

// TestWorkspacePods_TakeOver starts an operator beside an idle pod. The pod's events arrive before the operator owns
// the shard, and the gate drops them, so that only the take-over can remove the pod.
func TestWorkspacePods_TakeOver(t *testing.T) {
	kept := ledgertest.OpenSQLite(t)
	router := engine.NewRouter(engine.Options{Ledger: kept, AwaitRecovery: true}, 2)
	defer closeRouter(t, router)
	chat := &v1beta1.AgentChat{ObjectMeta: clustertest.Named("chat", "chat-uid")}
	chat.Spec.Workspace = &v1beta1.Workspace{PersistentVolumeClaim: &v1beta1.ClaimSource{ClaimName: "files"}, IdleTimeoutSeconds: 60}
	idle := clustertest.OwnedBy(chat, "AgentChat", &corev1.Pod{ObjectMeta: clustertest.Named("ws-chat", "pod-uid")})
	idle.Labels = pod.Labels()
	api := clustertest.NewCluster(t, chat, idle)
	now := time.Now()
	workspaces, err := workspace.New(workspace.Options{Client: api, Live: api, Image: "example.com/workspace:1", Now: func() time.Time { return now },
		Operator: pod.Peer{Namespace: "nestor-system", Labels: DefaultLabels()}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = workspaces.Close(t.Context()) }()
	gate := cluster.Gate{Engine: router, Objects: cluster.Reader{Cache: api, API: api}}
	wake := &wakers{chats: cluster.NewQueue(), quotas: cluster.NewQueue(), workspacePods: cluster.NewQueue()}
	reconciler := gate.Tree(&corev1.Pod{}, &workspace.Reconciler{Client: api, Workspaces: workspaces})
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := wake.workspacePods.Source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}

	event := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(idle)}
	if result, err := reconciler.Reconcile(t.Context(), event); err != nil || result.RequeueAfter != 0 {
		t.Fatalf("the pod of another operator: %+v, %v", result, err)
	}
	shard := gate.TreeShard(t.Context(), idle)
	if err := wake.wakeShards(t.Context(), gate, map[int]bool{1 - shard: true}); err != nil || queue.Len() != 0 {
		t.Fatalf("%d pods of another shard were enqueued: %v", queue.Len(), err)
	}
	takeOverShard(t, router, shard)
	if err := wake.wakeShards(t.Context(), gate, map[int]bool{shard: true}); err != nil || queue.Len() != 1 {
		t.Fatalf("%d pods were enqueued: %v", queue.Len(), err)
	}
	request, _ := queue.Get()
	result, err := reconciler.Reconcile(t.Context(), request)
	if err != nil || result.RequeueAfter != time.Minute {
		t.Fatalf("%+v, %v", result, err)
	}
	now = now.Add(result.RequeueAfter)
	if _, err := reconciler.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if err := api.Get(t.Context(), request.NamespacedName, &corev1.Pod{}); !apierrors.IsNotFound(err) {
		t.Errorf("the idle pod still exists: %v", err)
	}
}
