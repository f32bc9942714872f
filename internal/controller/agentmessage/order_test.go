// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentmessage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/agents"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/test/patience"
)

// Messages that were created within one second reach the chat in the order of their resource versions, although eight
// workers take them from the queue in any order.
func TestBurstKeepsCreationOrder(t *testing.T) {
	second := metav1.NewTime(time.Now().Truncate(time.Second))
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "chat", UID: "chat-uid"}}
	objects, created := []client.Object{chat}, []string{}
	for i := range 50 {
		name := fmt.Sprintf("message-%02d", (i*37)%50)
		created = append(created, name)
		objects = append(objects, &v1beta1.AgentMessage{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID("uid-" + name), ResourceVersion: strconv.Itoa(1000 + i), CreationTimestamp: second},
			Spec:       v1beta1.AgentMessageSpec{Chat: "chat", Role: v1beta1.RoleUser, Content: "hello"},
		})
	}
	r, store := reconcilerWith(t, objects...)
	if err := r.Runner.Engine.Start(ledger.Agent{UID: "chat-uid", Kind: "AgentChat", Namespace: "a", Name: "chat", Root: "chat-uid", Chat: "chat", CreatedAt: second.Time},
		agent.Started{Config: agent.Config{Kind: agent.Orchestrator, Name: "chat"}}); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool {
		_, started, err := r.Runner.State(t.Context(), "chat-uid")
		return started && err == nil
	})

	queue := make(chan string, len(created))
	for _, i := range rand.Perm(len(created)) {
		queue <- created[i]
	}
	close(queue)
	var pool sync.WaitGroup
	for range workers {
		pool.Go(func() {
			for name := range queue {
				request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: name}}
				if _, err := r.Reconcile(t.Context(), request); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	pool.Wait()
	await(t, func() bool { return len(arrived(t, store)) == len(created) })
	if got := arrived(t, store); !slices.Equal(got, created) {
		t.Errorf("the order of arrival is %v", got)
	}
}

// The orchestrator records that it has taken a message into a turn; the message controller writes that to the message's
// status.
func TestMessageInTurnIsHandled(t *testing.T) {
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "chat", UID: "chat-uid"}}
	hello := &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "hello", UID: "hello-uid"},
		Spec: v1beta1.AgentMessageSpec{Chat: "chat", Role: v1beta1.RoleUser, Content: "hello"}}
	r, _ := reconcilerWith(t, chat, hello)
	if err := r.Runner.Engine.Start(ledger.Agent{UID: "chat-uid", Kind: "AgentChat", Namespace: "a", Name: "chat", Root: "chat-uid", Chat: "chat", CreatedAt: time.Now()},
		agent.Started{Config: agent.Config{Kind: agent.Orchestrator, Name: "chat", Limits: agent.Limits{MaxIterations: 1}}}); err != nil {
		t.Fatal(err)
	}
	name := client.ObjectKeyFromObject(hello)
	await(t, func() bool {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}); err != nil {
			t.Fatal(err)
		}
		if err := r.Client.Get(t.Context(), name, hello); err != nil {
			t.Fatal(err)
		}
		return hello.Status.Phase == v1beta1.MessageHandled
	})
	if c := hello.Status.Conditions[0]; hello.Status.Reason != v1beta1.ReasonHandled || c.Status != metav1.ConditionTrue || c.Message != "The message was taken into a turn." {
		t.Errorf("the status is %+v", hello.Status)
	}
}

// A message keeps its position after the operator has written to it, for example while it waited for its chat.
func TestUpdatedMessageKeepsPosition(t *testing.T) {
	var o sequence
	first := &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "first", UID: "1", ResourceVersion: "5"}}
	before := o.add(first)
	first.ResourceVersion = "9"
	if after := o.add(first); after != before || after.version != 5 {
		t.Errorf("the position changed from %+v to %+v", before, after)
	}
	again := &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "first", UID: "2", ResourceVersion: "12"}}
	if place := o.add(again); place.version != 12 {
		t.Errorf("a new message of the same name has the position %+v", place)
	}
	o.remove(client.ObjectKeyFromObject(again))
	if len(o.positions) != 0 {
		t.Errorf("%d positions of deleted messages are kept", len(o.positions))
	}
}

// arrived returns the messages that the chat received, in the order of the ledger.
func arrived(t *testing.T, store ledger.Ledger) []string {
	t.Helper()
	events, err := store.Events(t.Context(), "chat-uid", 0, ledger.MaxLimit)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range events {
		var event agent.Event
		if err := json.Unmarshal(e.Data, &event); err != nil {
			t.Fatal(err)
		}
		if f, ok := event.Fact.(agent.MessageArrived); ok {
			names = append(names, f.Message)
		}
	}
	return names
}

// reconcilerWith returns a reconciler of a cluster with these objects, and its ledger.
func reconcilerWith(t *testing.T, objects ...client.Object) (*Reconciler, ledger.Ledger) {
	t.Helper()
	store := ledgertest.OpenSQLite(t)
	eng := engine.NewRouter(engine.Options{Ledger: store, Models: noModels{}, Tools: noTools{}, ReportError: func(err error) { t.Log(err) }}, 0)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := eng.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	builder := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithStatusSubresource(&v1beta1.AgentMessage{}).WithObjects(objects...)
	for _, index := range cluster.Indexes() {
		builder = builder.WithIndex(index.Object, index.Field, index.Values)
	}
	api := builder.Build()
	runner := &agents.Runner{Reader: cluster.Reader{Cache: api, API: api}, Client: api, Engine: eng, Ledger: store, MessageTaken: func(types.NamespacedName) {}}
	runner.Finder.Live = api
	return &Reconciler{Client: api, Runner: runner}, store
}

type noModels struct{}

var errNoModel = errors.New("no model")

func (noModels) Route(context.Context, ledger.Agent) (string, error) { return "", errNoModel }

func (noModels) Endpoint(context.Context, ledger.Agent, string) (engine.Endpoint, error) {
	return engine.Endpoint{}, errNoModel
}

type noTools struct{}

func (noTools) Set(context.Context, ledger.Agent, string) (tool.Set, error) {
	return tool.Set{}, errNoModel
}

// await waits until so returns true.
func await(t *testing.T, so func() bool) {
	t.Helper()
	if !patience.Until(so) {
		t.Fatal("timed out")
	}
}
