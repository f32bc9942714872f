// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
	"github.com/nestor-dev/nestor/internal/controller/agents"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/shard"
)

// takeOverShard acquires and recovers a shard.
func takeOverShard(t *testing.T, router *engine.Router, index int) {
	t.Helper()
	e := router.Engine(index)
	if err := e.Acquire(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// closeRouter returns when everything that was delivered is recorded.
func closeRouter(t *testing.T, router *engine.Router) {
	t.Helper()
	if err := router.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// ledgerWithChat returns a ledger of two shards with the agent of a chat in the second one. No operator owns it.
func ledgerWithChat(t *testing.T) (ledger.Ledger, ledger.Agent) {
	t.Helper()
	kept := ledgertest.OpenSQLite(t)
	before := engine.NewRouter(engine.Options{Ledger: kept, AwaitRecovery: true}, 2)
	takeOverShard(t, before, 1)
	hash, _ := shard.Count(2).Range(1)
	chat := ledger.Agent{UID: "chat-uid", Kind: "AgentChat", Namespace: "a", Name: "chat", Root: "chat-uid", Chat: "chat", ShardHash: hash, CreatedAt: time.Now()}
	if err := before.Start(chat, agent.Started{Config: agent.Config{Kind: agent.Orchestrator, Name: "chat"}}); err != nil {
		t.Fatal(err)
	}
	closeRouter(t, before)
	return kept, chat
}

// TestAgent_ObjectDeleted_EndedAfterRecovery confirms deletions, as the recovery of another shard does when it ends,
// while the shard of an agent without an object is still being recovered.
func TestAgent_ObjectDeleted_EndedAfterRecovery(t *testing.T) {
	kept, chat := ledgerWithChat(t)
	confirmed := 0
	d := &driver{unconfirmed: &unconfirmed{}, hasObject: func(context.Context, ledger.Agent, bool) (bool, error) {
		confirmed++
		return false, nil
	}}
	d.router = engine.NewRouter(engine.Options{Ledger: kept, AwaitRecovery: true, ShouldTakeOver: func(ctx context.Context, a ledger.Agent) bool {
		d.unconfirmed.add(a)
		if err := d.confirmObjects(ctx); err != nil {
			t.Error(err)
		}
		return false
	}}, 2)
	takeOverShard(t, d.router, 0)
	takeOverShard(t, d.router, 1)
	if err := d.confirmObjects(t.Context()); err != nil {
		t.Error(err)
	}
	closeRouter(t, d.router)
	if a, err := kept.Agent(t.Context(), chat.UID); err != nil || a.Live() {
		t.Errorf("the agent is live: %t (%v)", a.Live(), err)
	}
	if confirmed != 1 {
		t.Errorf("the object was read %d times", confirmed)
	}
}

// TestObject_DeletedDuringRecovery deletes a chat right after the cache showed that it exists.
func TestObject_DeletedDuringRecovery(t *testing.T) {
	for name, shards := range map[string]struct{ owned []int }{"of the only shard": {nil}, "of another shard": {[]int{0}}} {
		t.Run(name, func(t *testing.T) {
			kept, record := ledgerWithChat(t)
			chat := &v1beta1.AgentChat{ObjectMeta: clustertest.Named(record.Name, record.UID)}
			api := clustertest.NewCluster(t, chat)
			objects := cluster.Reader{Cache: api, API: api}
			var reconcileChat func() ctrl.Result
			router := engine.NewRouter(engine.Options{Ledger: kept, AwaitRecovery: true, ShouldTakeOver: func(ctx context.Context, a ledger.Agent) bool {
				there, err := objects.HasObject(ctx, a, false)
				if !there || err != nil {
					t.Errorf("the chat is in the cache: %t (%v)", there, err)
				}
				if err := api.Delete(ctx, chat); err != nil {
					t.Error(err)
				}
				if result := reconcileChat(); result.IsZero() {
					t.Error("the request is dropped")
				}
				return true
			}}, 2)
			tracker := &agents.Tracker{Engine: router, Find: objects.Find, Kind: "AgentChat"}
			gated := cluster.Gate{Engine: router, Objects: objects}.Tree(chat, reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
				_, err := tracker.Fetch(ctx, request.NamespacedName, &v1beta1.AgentChat{})
				return ctrl.Result{}, err
			}))
			reconcileChat = func() ctrl.Result {
				result, err := gated.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(chat)})
				if err != nil {
					t.Error(err)
				}
				return result
			}
			for _, index := range append(shards.owned, 1) {
				takeOverShard(t, router, index)
			}
			if result := reconcileChat(); !result.IsZero() {
				t.Errorf("the request is tried again: %v", result)
			}
			closeRouter(t, router)
			if a, err := kept.Agent(t.Context(), record.UID); err != nil || a.Live() {
				t.Errorf("the agent is live: %t (%v)", a.Live(), err)
			}
		})
	}
}

// TestObject_CreatedInAnotherShard deletes a chat and creates another one with its name, and only then reconciles the
// name. The operator of the old chat ends its agent, and that of the new one acts on the new one.
func TestObject_CreatedInAnotherShard(t *testing.T) {
	kept, record := ledgerWithChat(t)
	name := types.NamespacedName{Namespace: record.Namespace, Name: record.Name}
	other := "chat-0"
	for i := 1; shard.Count(2).Of(shard.Hash(other)) != 0; i++ {
		other = fmt.Sprint("chat-", i)
	}
	api := clustertest.NewCluster(t, &v1beta1.AgentChat{ObjectMeta: clustertest.Named(record.Name, other)})
	objects := cluster.Reader{Cache: api, API: api}
	operate := func(index int) (*engine.Router, func() (alive bool)) {
		router := engine.NewRouter(engine.Options{Ledger: kept, AwaitRecovery: true}, 2)
		takeOverShard(t, router, index)
		tracker := &agents.Tracker{Engine: router, Find: objects.Find, Kind: "AgentChat"}
		tracker.Add(name, types.UID(record.UID)) // both operators owned its shard at some time
		return router, func() (alive bool) {
			gated := cluster.Gate{Engine: router, Objects: objects}.Agents(&v1beta1.AgentChat{}, tracker, reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
				var err error
				alive, err = tracker.Fetch(ctx, request.NamespacedName, &v1beta1.AgentChat{})
				return ctrl.Result{}, err
			}))
			if _, err := gated.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}); err != nil {
				t.Error(err)
			}
			return alive
		}
	}
	first, reconcileFirst := operate(0)
	second, reconcileSecond := operate(1)
	if !reconcileFirst() {
		t.Error("the operator of the new chat does not act on it")
	}
	if reconcileSecond() {
		t.Error("the operator of the old chat acts on the new one")
	}
	closeRouter(t, first)
	closeRouter(t, second)
	if a, err := kept.Agent(t.Context(), record.UID); err != nil || a.Live() {
		t.Errorf("the agent of the old chat is live: %t (%v)", a.Live(), err)
	}
}
