// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
)

// A new child may not be in the cache yet. It must be cancelled anyway: treated as never started, it would continue to
// run.
func TestUncachedChildIsCancelled(t *testing.T) {
	runner, owner, child := newCancelRunner(t)
	if err := runner.cancelChild(t.Context(), owner, "chat-1"); err != nil {
		t.Fatal(err)
	}
	if !isCancelled(t, runner, child) {
		t.Error("the child was not cancelled")
	}
}

// The engine delivers the cancellation to a child that has started. An edit of its task could change a task that
// already shows its end.
func TestStartedChildTaskIsNotEdited(t *testing.T) {
	runner, owner, child := newCancelRunner(t)
	record := ledger.Agent{UID: "agent", Kind: "SubAgent", Namespace: "a", Name: "chat-1", Parent: "chat-uid", Root: "chat-uid", Chat: "chat", CreatedAt: time.Now()}
	started := agent.Started{Config: agent.Config{Kind: agent.SubAgent, Name: "chat-1", Depth: 1, MaxDepth: 1}}
	if err := runner.Engine.Start(record, started, agent.Cancelled{}); err != nil {
		t.Fatal(err)
	}
	if err := runner.Engine.Record(t.Context(), "agent", agent.Woke{}); err != nil { // the agent has ended once this event is recorded
		t.Fatal(err)
	}
	if err := runner.cancelChild(t.Context(), owner, "chat-1"); err != nil {
		t.Fatal(err)
	}
	if isCancelled(t, runner, child) {
		t.Error("its task was edited")
	}
}

// newCancelRunner returns a runner and a chat with a child that is not in the cache.
func newCancelRunner(t *testing.T) (*Runner, Owner, client.Object) {
	t.Helper()
	chat := &v1beta1.AgentChat{ObjectMeta: clustertest.Named("chat", "chat-uid")}
	child := clustertest.OwnedBy(chat, "AgentChat", &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "chat-1"}})
	live := clustertest.NewCluster(t, child)
	behind := interceptor.NewClient(live, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "agenttasks"}, key.Name)
		},
	})
	runner, owner, _ := newPostingRunner(t, behind)
	runner.API = live
	return runner, owner, child
}

func isCancelled(t *testing.T, r *Runner, task client.Object) bool {
	t.Helper()
	var stored v1beta1.AgentTask
	if err := r.API.Get(t.Context(), client.ObjectKeyFromObject(task), &stored); err != nil {
		t.Fatal(err)
	}
	return stored.Spec.Cancel
}

// A child may have failed only because its parent was deleted. The report must not make the parent continue.
func TestFailureEndsADeletedParent(t *testing.T) {
	kept := ledgertest.OpenSQLite(t)
	e := newRouter(t, engine.Options{Ledger: kept, Models: noModels{}, Deleted: func(context.Context, ledger.Agent) (bool, bool, error) {
		return true, false, nil
	}})
	chat := &v1beta1.AgentChat{ObjectMeta: clustertest.Named("chat", "chat-uid")}
	record := ledger.Agent{UID: "chat-uid", Kind: "AgentChat", Namespace: "a", Name: "chat", Root: "chat-uid", Chat: "chat",
		CreatedAt: time.Now()}
	started := agent.Started{Config: agent.Config{Kind: agent.Orchestrator, Name: "chat"}}
	if err := e.Start(record, started, agent.MessageArrived{Message: "hello", Text: "Hello"}); err != nil {
		t.Fatal(err)
	}
	if err := e.Record(t.Context(), "chat-uid", agent.Woke{}); err != nil { // it has started once this event is recorded
		t.Fatal(err)
	}
	r := &Runner{Engine: e}
	task := clustertest.OwnedBy(chat, "AgentChat", &v1beta1.AgentTask{ObjectMeta: clustertest.Named("chat-1", "task")})
	failure := v1beta1.RunError{Kind: v1beta1.ErrorCancelled, Message: "its owner was deleted"}
	if err := r.ReportFailure(t.Context(), task, failure); err != nil {
		t.Fatal(err)
	}
	_ = e.Record(t.Context(), "chat-uid", agent.Woke{}) // the end is recorded before this event, which may be refused
	if found, err := kept.Agent(t.Context(), "chat-uid"); err != nil || found.Live() {
		t.Errorf("the deleted chat is live: %t (%v)", found.Live(), err)
	}
}
