// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentchat

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/agents"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
)

type downLedger struct{ ledger.Ledger }

func (downLedger) Load(context.Context, string) (ledger.History, error) {
	return ledger.History{}, &ledger.Error{Op: "load", Reason: ledger.ReasonUnavailable, Err: errors.New("connection refused")}
}

// reconcilerWith returns a reconciler of a cluster with these objects, and a client for it.
func reconcilerWith(t *testing.T, down bool, objects ...client.Object) (*Reconciler, client.Client) {
	t.Helper()
	kept := ledgertest.OpenSQLite(t)
	var used engine.Ledger = kept
	if down {
		used = downLedger{kept}
	}
	eng := engine.NewRouter(engine.Options{Ledger: used}, 0)
	t.Cleanup(func() {
		if err := eng.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	api := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithStatusSubresource(&v1beta1.AgentChat{}).WithObjects(objects...).
		WithIndex(&v1beta1.AgentMessage{}, cluster.ChatField, func(o client.Object) []string { return []string{o.(*v1beta1.AgentMessage).Spec.Chat} }).Build()
	runner := &agents.Runner{Reader: cluster.Reader{Cache: api, API: api}, Client: api, Engine: eng, Ledger: kept, LedgerName: "sqlite:here", Status: &status.Writer{Client: api, Pace: status.NewPace()}, MessageTaken: func(types.NamespacedName) {}}
	runner.Finder.Live = api
	return &Reconciler{Client: api, Runner: runner, Tracker: &agents.Tracker{Engine: eng, Find: runner.Find, Kind: "AgentChat"}, Unresolved: &cluster.Unresolved{}}, api
}

func TestChatReportsLostHistory(t *testing.T) {
	began := metav1.NewTime(time.Now().Truncate(time.Second))
	ready := []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonReady, LastTransitionTime: began}}
	for name, test := range map[string]struct {
		status v1beta1.AgentChatStatus
		down   bool
		reason string
		words  string
	}{
		"started, and not in the ledger":               {v1beta1.AgentChatStatus{StartTime: &began}, false, v1beta1.ReasonHistoryLost, "The next message starts a new conversation."},
		"started, and the ledger does not respond":     {v1beta1.AgentChatStatus{StartTime: &began, Conditions: ready}, true, v1beta1.ReasonLedgerUnavailable, "The ledger sqlite:here fails"},
		"not started, and the ledger does not respond": {v1beta1.AgentChatStatus{}, true, v1beta1.ReasonLedgerUnavailable, "Nothing is lost."},
	} {
		t.Run(name, func(t *testing.T) {
			chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "chat", UID: types.UID("uid"), CreationTimestamp: began}, Status: test.status}
			r, api := reconcilerWith(t, test.down, chat)
			var versions []string
			for range 2 { // the second reconcile has nothing to write
				result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(chat)})
				if err != nil || result.IsZero() == test.down {
					t.Fatalf("the reconcile ends with %+v (%v)", result, err)
				}
				if err := api.Get(t.Context(), client.ObjectKeyFromObject(chat), chat); err != nil {
					t.Fatal(err)
				}
				versions = append(versions, chat.ResourceVersion)
			}
			c := meta.FindStatusCondition(chat.Status.Conditions, v1beta1.ConditionReady)
			if c == nil || c.Status != metav1.ConditionFalse || c.Reason != test.reason || !strings.Contains(c.Message, test.words) {
				t.Errorf("the condition is %+v", c)
			}
			if versions[0] != versions[1] {
				t.Error("the status was written twice")
			}
			if !test.down && chat.Status.StartTime == nil {
				t.Error("the status no longer shows that the chat had started")
			}
		})
	}
}
