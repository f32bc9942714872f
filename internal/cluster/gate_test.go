// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/shard"
)

// newGate returns the gate of an operator that owns the shard of a UID and no other.
func newGate(t *testing.T, uid string, objects ...*v1beta1.AgentChat) cluster.Gate {
	t.Helper()
	store := ledgertest.OpenSQLite(t)
	router := engine.NewRouter(engine.Options{Ledger: store, AwaitRecovery: true}, 32)
	t.Cleanup(func() {
		if err := router.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	own(t, router, router.ShardOf(shard.Hash(uid)))
	api := clustertest.NewCluster(t)
	for _, object := range objects {
		if err := api.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return cluster.Gate{Engine: router, Objects: cluster.Reader{Cache: api, API: api}}
}

func own(t *testing.T, router *engine.Router, index int) {
	t.Helper()
	e := router.Engine(index)
	if err := e.Acquire(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// otherUID returns a UID in another shard.
func otherUID(uid string) string {
	n := shard.Count(32)
	for i := 0; ; i++ {
		if other := fmt.Sprint("chat-", i); n.Of(shard.Hash(other)) != n.Of(shard.Hash(uid)) {
			return other
		}
	}
}

func request(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: name}}
}

func TestRequestsOfOtherShardsAreDropped(t *testing.T) {
	theirs := otherUID("mine")
	gate := newGate(t, "mine",
		&v1beta1.AgentChat{ObjectMeta: clustertest.Named("mine", "mine")}, &v1beta1.AgentChat{ObjectMeta: clustertest.Named("theirs", theirs)})
	var handled []string
	for _, wrap := range []reconcile.Reconciler{
		gate.Tree(&v1beta1.AgentChat{}, reconcile.Func(func(_ context.Context, r ctrl.Request) (ctrl.Result, error) {
			handled = append(handled, "tree "+r.Name)
			return ctrl.Result{}, nil
		})),
		gate.Object(&v1beta1.AgentChat{}, reconcile.Func(func(_ context.Context, r ctrl.Request) (ctrl.Result, error) {
			handled = append(handled, "object "+r.Name)
			return ctrl.Result{}, nil
		})),
	} {
		for _, name := range []string{"mine", "theirs", "deleted"} {
			if _, err := wrap.Reconcile(t.Context(), request(name)); err != nil {
				t.Error(err)
			}
		}
	}
	if want := "[tree mine tree deleted object mine object deleted]"; fmt.Sprint(handled) != want {
		t.Errorf("handled %v, want %s", handled, want)
	}
	var object v1beta1.AgentChat
	object.UID = types.UID(theirs)
	if _, ok := gate.EnterObject(&object); ok {
		t.Error("the operator writes the status of an object of another shard")
	}
}

// TestOutagesAreReportedWithoutTheShard lets reconciles begin while the ledger keeps this operator from taking over the
// shard. Nothing starts.
func TestOutagesAreReportedWithoutTheShard(t *testing.T) {
	gate := newGate(t, otherUID("mine"), &v1beta1.AgentChat{ObjectMeta: clustertest.Named("mine", "mine")})
	handled := 0
	wrapped := gate.Tree(&v1beta1.AgentChat{}, reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) {
		handled++
		record := ledger.Agent{UID: "mine", Kind: "AgentChat", Namespace: "a", Name: "mine", Root: "mine", Chat: "mine", ShardHash: shard.Hash("mine"), CreatedAt: time.Now()}
		if err := gate.Engine.CheckOwned(record.ShardHash); !errors.Is(err, engine.ErrNotOwned) {
			t.Errorf("owns the shard: %v", err)
		}
		return ctrl.Result{}, gate.Engine.Start(record, agent.Started{Config: agent.Config{Kind: agent.Orchestrator, Name: "mine"}})
	}))
	e := gate.Engine.Engine(gate.Engine.ShardOf(shard.Hash("mine")))
	for i, report := range []bool{false, true, false} {
		e.ReportOutage(report)
		if result, err := wrapped.Reconcile(t.Context(), request("mine")); err != nil || !result.IsZero() {
			t.Errorf("reconcile %d: %v, %v", i, result, err)
		}
	}
	if handled != 1 {
		t.Errorf("%d reconciles began, want 1", handled)
	}
	if _, err := gate.Engine.View(t.Context(), "mine"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("the agent was started: %v", err)
	}
}

func TestReconcile_ShardLost_NotRetried(t *testing.T) {
	gate := newGate(t, "mine", &v1beta1.AgentChat{ObjectMeta: clustertest.Named("mine", "mine")})
	for err, want := range map[error]error{
		fmt.Errorf("deliver: %w", engine.ErrNotOwned): nil, fmt.Errorf("record: %w", engine.ErrSuperseded): nil, context.DeadlineExceeded: context.DeadlineExceeded,
	} {
		wrapped := gate.Tree(&v1beta1.AgentChat{}, reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, err }))
		if _, got := wrapped.Reconcile(t.Context(), request("mine")); !errors.Is(got, want) {
			t.Errorf("%v became %v, want %v", err, got, want)
		}
	}
}

// TestDeletion_DuringRecovery_Kept deletes an object after its agent was selected for the take-over: later, nothing
// would enqueue its name again.
func TestDeletion_DuringRecovery_Kept(t *testing.T) {
	gate := newGate(t, otherUID("mine"), &v1beta1.AgentChat{ObjectMeta: clustertest.Named("mine", "mine")})
	record := ledger.Agent{UID: "mine", Kind: "AgentChat", Namespace: "a", Name: "mine", Root: "mine", Chat: "mine", ShardHash: shard.Hash("mine"), CreatedAt: time.Now()}
	e := gate.Engine.Engine(gate.Engine.ShardOf(record.ShardHash))
	own(t, gate.Engine, gate.Engine.ShardOf(record.ShardHash))
	if err := gate.Engine.Start(record, agent.Started{Config: agent.Config{Kind: agent.Orchestrator, Name: "mine"}}); err != nil {
		t.Fatal(err)
	}
	if err := gate.Engine.Record(t.Context(), "mine", agent.Woke{}); err != nil {
		t.Fatal(err)
	}
	_ = e.HandOver(t.Context())
	for name, known := range map[string]bool{"known by its UID": true, "known by its name": false} {
		t.Run(name, func(t *testing.T) {
			end := func() (ctrl.Result, error) {
				return gate.Tree(&v1beta1.AgentChat{}, reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
					if known {
						return ctrl.Result{}, gate.Engine.End(ctx, "mine")
					}
					_, err := gate.Engine.LiveNamed(ctx, "AgentChat", "a", "mine")
					return ctrl.Result{}, err
				})).Reconcile(t.Context(), request("gone"))
			}
			if result, err := end(); err != nil || !result.IsZero() {
				t.Errorf("the shard of another operator: %v, %v", result, err)
			}
			if err := e.Acquire(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if result, err := end(); err != nil || result.RequeueAfter == 0 {
				t.Errorf("the request is dropped: %v, %v", result, err)
			}
			_ = e.HandOver(t.Context())
		})
	}
}

// TestAShardIsNotHandedOverDuringAReconcile tries to hand over while a reconcile of the shard is in progress.
func TestAShardIsNotHandedOverDuringAReconcile(t *testing.T) {
	gate := newGate(t, "mine", &v1beta1.AgentChat{ObjectMeta: clustertest.Named("mine", "mine")})
	began, finish := make(chan struct{}), make(chan struct{})
	wrapped := gate.Tree(&v1beta1.AgentChat{}, reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) {
		close(began)
		<-finish
		return ctrl.Result{}, nil
	}))
	reconciled := make(chan error, 1)
	go func() {
		_, err := wrapped.Reconcile(t.Context(), request("mine"))
		reconciled <- err
	}()
	<-began
	handed := make(chan struct{})
	go func() {
		_ = gate.Engine.Engine(gate.Engine.ShardOf(shard.Hash("mine"))).HandOver(t.Context())
		close(handed)
	}()
	for !gate.Engine.Moving(shard.Hash("mine")) {
		<-time.After(time.Millisecond)
	}
	select {
	case <-handed:
		t.Fatal("the shard was handed over")
	default:
	}
	if _, err := wrapped.Reconcile(t.Context(), request("mine")); err != nil { // would panic if it began: the channel is closed
		t.Error(err)
	}
	close(finish)
	if err := <-reconciled; err != nil {
		t.Error(err)
	}
	<-handed
}
